"""What the page's charts show, for its script to draw.

Points carry the row of a table that they stand for, of which a tooltip tells configuration and
outcome. The same numbers are in the figures of runner.report.figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from runner.mlbench.capacity import tolerance_curve, versions
from runner.mlbench.regimes import Thresholds, heat_map
from runner.mlbench.study import Study, Task, Time
from runner.report.chart import FLOOR_SECONDS, drawn
from runner.report.figures.quality import auc_values, gap_values

Chart = Mapping[str, Any]


def configuration_charts(configurations: pa.Table) -> list[Chart]:
    """AUC against training time, a point a configuration; none where no point has both."""
    found = drawn(configurations)
    if not len(found.table):
        return []
    shown = found.table.to_pylist()
    tasks = list(dict.fromkeys(row["task"] for row in shown))
    systems = sorted({row["system"] for row in shown})
    panels = []
    for task in tasks:
        points = [
            _point(
                max(row["training_seconds"], FLOOR_SECONDS),
                row["cv_auc"],
                systems.index(row["system"]),
                row=row["row"],
                label=row["system"] if row["selected"] else None,
            )
            for row in shown
            if row["task"] == task
        ]
        panels.append({"title": task, "points": points})
    few = f", {found.few} of them" if found.few else ""
    return [
        {
            "id": "auc_vs_time",
            "title": "AUC against training time",
            "about": "A point is a configuration"
            + few
            + "; the large ones with a name are the selected ones.",
            "table": "configurations",
            "series": systems,
            "x": {"scale": "log", "title": "training time, sum over folds (s)"},
            # A grid has its duds; the axis is the others'.
            "y": {"title": "mean AUC in cross-validation", "zoom": True},
            "panels": panels,
        }
    ]


def study_charts(
    study: Study,
    thresholds: Thresholds,
    without: Sequence[str] | None = None,
    reference: str = "A-LR",
) -> list[Chart]:
    """mlbench's figures 1 to 6, those for which the study has numbers.

    Args:
        study: What was found.
        thresholds: Of the regimes in figure 6.
        without: The tasks that figure 1 leaves out one after the other.
        reference: The system whose AUC is a line in figures 4 and 5.
    """
    systems, gaps = gap_values(study)
    charts = [
        _models_needed(study, without),
        _by_task(
            study,
            "figure2",
            "AUC by task",
            "On the test set, of the selected configuration.",
            "test AUC",
            [system.name for system in study.systems],
            auc_values(study),
        ),
        _by_task(
            study,
            "figure3",
            "C-BDT against linear systems",
            "Zero is the best linear system of each task.",
            "AUC minus the best linear system's",
            [system.name for system in systems],
            gaps,
        ),
        _tradeoff(study, "figure4", "total", reference),
        _tradeoff(study, "figure5", "average", reference),
        _capacity(study, thresholds),
    ]
    return [chart for chart in charts if chart is not None]


def _point(x: float, y: float, series: int, **more: Any) -> Mapping[str, Any]:
    return {
        "x": x,
        "y": y,
        "s": series,
        **{name: value for name, value in more.items() if value is not None},
    }


def _by_task(
    study: Study,
    name: str,
    title: str,
    about: str,
    axis: str,
    systems: Sequence[str],
    values: Sequence[Mapping[str, Any]],
) -> Chart | None:
    if not values:
        return None
    shown = {value["task"] for value in values}
    tasks = [task for task in study.by_size() if task.name in shown]
    places = {task.name: place for place, task in enumerate(tasks)}
    points = [
        _point(
            places[value["task"]],
            value["value"],
            systems.index(value["system"]),
            pair=[value["task"], value["system"]],
        )
        for value in values
    ]
    return {
        "id": name,
        "title": title,
        "about": about,
        "series": systems,
        "x": {"scale": "band", "title": "task, by training rows", "names": [*map(_name, tasks)]},
        "y": {"title": axis},
        "panels": [{"title": "", "points": points}],
    }


def _name(task: Task) -> str:
    return task.name if task.rows is None else f"{task.name} ({task.rows:,})"


_TRADEOFFS: Mapping[Time, tuple[str, str]] = {
    "total": ("total training time", "training time, all configurations and folds (s)"),
    "average": ("average training time", "training time of a configuration, all folds (s)"),
}


def _tradeoff(study: Study, name: str, time: Time, reference: str) -> Chart | None:
    title, axis = _TRADEOFFS[time]
    systems = [system.name for system in study.systems]
    panels = []
    for task in study.tasks:
        points = []
        for place, system in enumerate(systems):
            result = study.result(task.name, system)
            seconds = result.seconds(time)
            if seconds is not None and result.auc is not None:
                x = max(seconds, FLOOR_SECONDS)
                points.append(_point(x, result.auc, place, pair=[task.name, system], label=system))
        if points:
            lines = list(_lines(study, task, reference))
            panels.append({"title": task.name, "points": points, "lines": lines})
    if not panels:
        return None
    return {
        "id": name,
        "title": f"AUC against {title}",
        "about": " ".join(study.remarks),
        "series": systems,
        "x": {"scale": "log", "title": axis},
        "y": {"title": "test AUC"},
        "panels": panels,
    }


def _lines(study: Study, task: Task, reference: str) -> Iterator[Mapping[str, Any]]:
    if task.winning and task.winning.auc is not None:
        yield {"y": task.winning.auc, "label": "winning code", "dash": ""}
    auc = study.result(task.name, reference).auc
    if auc is not None:
        yield {"y": auc, "label": reference, "dash": "5 4"}


def _models_needed(study: Study, without: Sequence[str] | None) -> Chart | None:
    if not study.capacities.tasks or not study.platforms:
        return None
    platforms = list(study.platforms)
    panels = []
    for left_out in versions(study.capacities, next(iter(study.platforms.values())), without):
        found = study.capacities.without(left_out)
        points = []
        for place, platform in enumerate(platforms):
            for step in tolerance_curve(found, study.platforms[platform]):
                text = [f"from {step.tolerance:.2f} % on: {', '.join(step.models)}"]
                points.append(_point(step.tolerance, len(step.models), place, text=text))
        title = f"without {', '.join(left_out)}" if left_out else "all tasks with ranks"
        panels.append({"title": title, "points": points})
    return {
        "id": "figure1",
        "title": "Capacity and universality",
        "about": "The least number of models with which a platform meets a tolerance in every "
        "task. Its capacity is where its line begins.",
        "series": platforms,
        "steps": True,
        "x": {"scale": "linear", "title": "quality tolerance (%)", "domain": [0, 100]},
        "y": {"title": "models needed", "whole": True},
        "panels": panels,
    }


def _capacity(study: Study, thresholds: Thresholds) -> Chart | None:
    if not study.capacities.tasks:
        return None
    tasks = [task.name for task in study.by_size() if task.name in study.capacities.tasks]
    limits = thresholds.low, thresholds.middle, thresholds.high
    cells = [
        {
            "x": tasks.index(cell.task),
            "y": list(study.capacities.models).index(cell.model),
            "value": cell.capacity,
            "regime": cell.regime,
            "pair": [cell.task, cell.model],
        }
        for cell in heat_map(study.capacities, thresholds)
    ]
    low, middle, high = (f"{limit:g}" for limit in limits)
    return {
        "id": "figure6",
        "title": "Capacity",
        "about": "The least quality tolerance (%) that a model meets in a task; low: below "
        f"{low}, middle: to {middle}, high: to {high}.",
        "columns": tasks,
        "rows": list(study.capacities.models),
        "cells": cells,
    }
