"""Figures 2 and 3: AUC by system over the tasks, ordered by size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runner.mlbench.study import Study, System, Task
from runner.report.style import COLOURS, SHAPES, by_system, config, heading

if TYPE_CHECKING:
    import altair as alt

BOOSTED = "C-BDT"
"""The non-linear system that figure 3 sets beside the linear ones."""
_WIDTH_OF_TASK = 110


def auc_by_size(study: Study) -> alt.TopLevelMixin | None:
    """Figure 2: the AUC of each system; None where no system has one."""
    return _lines(
        study,
        study.systems,
        auc_values(study),
        "AUC by task",
        "test AUC",
        ["on the test set, of the selected configuration"],
    )


def gap_to_best_linear(study: Study) -> alt.TopLevelMixin | None:
    """Figure 3: AUC minus the best linear system's, of C-BDT and of each linear system.

    Only of the systems of C-BDT's platform, since the paper asks what a user of it should pick.
    None where no platform has it, or no linear system of that platform has an AUC.
    """
    systems, values = gap_values(study)
    return _lines(
        study,
        systems,
        values,
        f"{BOOSTED} against linear systems",
        "AUC minus the best linear system's",
        ["zero is the best linear system of each task"],
    )


def auc_values(study: Study) -> list[dict[str, Any]]:
    """Figure 2's points: ``task``, ``system`` and its AUC as ``value``; tasks by size."""
    return [
        {"task": task.name, "system": system.name, "value": auc}
        for task in study.by_size()
        for system in study.systems
        if (auc := study.result(task.name, system.name).auc) is not None
    ]


def gap_values(study: Study) -> tuple[list[System], list[dict[str, Any]]]:
    """Figure 3's systems and points: ``task``, ``system`` and the difference as ``value``."""
    own = next((systems for systems in study.platforms.values() if BOOSTED in systems), ())
    systems = [
        system
        for system in study.systems
        if system.name in own and (system.linear or system.name == BOOSTED)
    ]
    linear = [system.name for system in systems if system.linear]
    values = []
    for task in study.by_size():
        best = max(
            (auc for name in linear if (auc := _auc(study, task, name)) is not None), default=None
        )
        for system in systems:
            auc = _auc(study, task, system.name)
            if auc is not None and best is not None:
                values.append({"task": task.name, "system": system.name, "value": auc - best})
    return systems, values


def _auc(study: Study, task: Task, system: str) -> float | None:
    return study.result(task.name, system).auc


def _lines(
    study: Study,
    systems: Sequence[System],
    values: Sequence[dict[str, Any]],
    title: str,
    axis: str,
    subtitle: Sequence[str],
) -> alt.TopLevelMixin | None:
    import altair as alt

    if not values:
        return None
    shown = {value["task"] for value in values}
    tasks = [task for task in study.by_size() if task.name in shown]
    labels = {task.name: _with_rows(task) for task in tasks}
    rows = [value | {"label": labels[value["task"]]} for value in values]
    names = [system.name for system in systems]
    # Side by side: of rounded AUCs many are equal.
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, size=80, opacity=1)
        .encode(
            x=alt.X(
                "label:N",
                sort=list(labels.values()),
                title="task, by training rows",
                axis=alt.Axis(
                    labelAngle=0, labelExpr="split(datum.label, '|')", bandPosition=0, grid=True
                ),
                scale=alt.Scale(paddingInner=0.25, paddingOuter=0.125),
            ),
            xOffset=alt.XOffset("system:N", sort=names),
            y=alt.Y("value:Q", title=axis, scale=alt.Scale(zero=False, nice=True)),
            color=by_system(alt.Color, names, COLOURS),
            shape=by_system(alt.Shape, names, SHAPES),
        )
        .properties(width=_WIDTH_OF_TASK * len(tasks), height=300)
    )
    return alt.concat(chart, title=heading(f"{study.name}: {title}", subtitle), config=config())


def _with_rows(task: Task) -> str:
    return task.name if task.rows is None else f"{task.name}|{task.rows:,}"
