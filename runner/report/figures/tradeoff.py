"""Figures 4 and 5: AUC against the time that training took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.mlbench.study import Study, Task, Time
from runner.report.labels import Panel, Point, place
from runner.report.style import COLOURS, config, heading, seconds_axis

if TYPE_CHECKING:
    import altair as alt

_TITLES = {
    "total": ("total training time", "training time, all configurations and folds (s, log scale)"),
    "average": (
        "average training time",
        "training time of a configuration, all folds (s, log scale)",
    ),
}
_BLUE, _RED = COLOURS[0], COLOURS[1]
_KINDS = {True: "linear", False: "non-linear", None: "not known"}
_KIND_COLOURS = {"linear": "#009E73", "non-linear": "#CC79A7", "not known": "#7F7F7F"}
_KIND_SHAPES = {"linear": "circle", "non-linear": "square", "not known": "diamond"}
_FLOOR_SECONDS = 1e-4
_WIDTH, _HEIGHT = 320, 230


@dataclass(frozen=True)
class _Mark:
    """A system on one task, as a point with a label."""

    system: str
    kind: str
    seconds: float
    auc: float


def auc_against_time(
    study: Study, time: Time, reference: str | None = None
) -> alt.TopLevelMixin | None:
    """A panel for each task with its systems' AUC against their training time.

    Args:
        study: What was found.
        time: ``total`` of all configurations (figure 4) or ``average`` of one (figure 5).
        reference: A system whose AUC is drawn as a line; left out where it has none.

    Returns:
        None where no system has both a time and an AUC.
    """
    import altair as alt

    panels = [
        _panel(task, marks, _auc(study, task, reference), time)
        for task in study.tasks
        if (marks := _marks(study, task, time, reference))
    ]
    if not panels:
        return None
    title, _ = _TITLES[time]
    return alt.concat(
        *panels,
        columns=3,
        bounds="flush",
        spacing={"row": 90, "column": 80},
        title=heading(f"{study.name}: AUC against {title}", _subtitle(study, reference)),
        config=config(),
    )


def _marks(study: Study, task: Task, time: Time, reference: str | None) -> list[_Mark]:
    found = []
    for system in study.systems:
        result = study.result(task.name, system.name)
        seconds = result.seconds(time)
        if system.name != reference and seconds is not None and result.auc is not None:
            kind = _KINDS[system.linear]
            found.append(_Mark(system.name, kind, max(seconds, _FLOOR_SECONDS), result.auc))
    return found


def _auc(study: Study, task: Task, system: str | None) -> float | None:
    return None if system is None else study.result(task.name, system).auc


def _panel(
    task: Task, marks: Sequence[_Mark], reference: float | None, time: Time
) -> alt.LayerChart | alt.FacetChart:
    import altair as alt

    winning = task.winning.auc if task.winning else None
    lines = [(winning, _BLUE, [1, 0]), (reference, _RED, [6, 4])]
    crossing = [auc for auc, _, _ in lines if auc is not None]
    heights = [mark.auc for mark in marks] + crossing
    panel = Panel(_WIDTH, _HEIGHT, _seconds_domain(marks), _auc_domain(heights))
    spots = place([Point(mark.seconds, mark.auc, mark.system) for mark in marks], panel, crossing)
    rows = [
        {**mark.__dict__, "label_seconds": x, "label_auc": y}
        for mark, (x, y) in zip(marks, spots, strict=True)
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=seconds_axis(panel.seconds, _TITLES[time][1]),
        y=alt.Y(
            "auc:Q",
            scale=alt.Scale(domain=panel.auc, nice=False, zero=False),
            axis=alt.Axis(title="test AUC", tickCount=6),
        ),
    )
    names = list(_KIND_COLOURS)
    points = base.mark_point(filled=True, size=110, opacity=1, stroke="white").encode(
        color=alt.Color(
            "kind:N",
            scale=alt.Scale(domain=names, range=list(_KIND_COLOURS.values())),
            legend=alt.Legend(title="model", values=_used(marks)),
        ),
        shape=alt.Shape("kind:N", scale=alt.Scale(domain=names, range=list(_KIND_SHAPES.values()))),
    )
    labels = base.mark_text(fontSize=11).encode(
        x="label_seconds:Q", y="label_auc:Q", text="system:N"
    )
    rules = [
        alt.Chart(alt.InlineData(values=[{"auc": auc}]))
        .mark_rule(color=colour, strokeDash=dash, strokeWidth=1.5)
        .encode(y="auc:Q")
        for auc, colour, dash in lines
        if auc is not None
    ]
    return alt.layer(*rules, points, labels, width=_WIDTH, height=_HEIGHT, title=task.name)


def _used(marks: Sequence[_Mark]) -> list[str]:
    return [kind for kind in _KIND_COLOURS if any(mark.kind == kind for mark in marks)]


def _seconds_domain(marks: Sequence[_Mark]) -> tuple[float, float]:
    seconds = [mark.seconds for mark in marks]
    room = max((max(seconds) / min(seconds)) ** 0.12, 1.6)
    return min(seconds) / room, max(seconds) * room


def _auc_domain(heights: Sequence[float]) -> tuple[float, float]:
    room = max(0.14 * (max(heights) - min(heights)), 0.004)
    return max(0.0, min(heights) - room), min(1.0 + room / 4, max(heights) + room)


def _subtitle(study: Study, reference: str | None) -> list[str]:
    lines = []
    if any(task.winning and task.winning.auc is not None for task in study.tasks):
        lines.append("blue line: the winning code")
    if any(_auc(study, task, reference) is not None for task in study.tasks):
        lines.append(f"red dashed line: {reference}")
    return [*(["; ".join(lines)] if lines else []), *study.remarks]
