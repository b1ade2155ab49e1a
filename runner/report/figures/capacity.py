"""Figures 1 and 6: what platforms and models are capable of beside the competitions' teams."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runner.mlbench.capacity import Step, tolerance_curve, versions
from runner.mlbench.regimes import Thresholds, heat_map
from runner.mlbench.study import Study
from runner.report.style import COLOURS, config, heading

if TYPE_CHECKING:
    import altair as alt

_CELL = {"width": 78, "height": 30}
# Dark to pale, so that the order stands in print without colour as well.
_REGIME_COLOURS = {"low": "#1A7837", "middle": "#7FBF7B", "high": "#FFED8A", "outside": "#D6604D"}


def models_needed_chart(
    study: Study, without: Sequence[str] | None = None
) -> alt.TopLevelMixin | None:
    """Figure 1: how many models a platform needs to meet a tolerance in all competitions.

    A panel for all tasks and one more for each task that is left out besides. None where no task
    has ranks.

    Args:
        study: What was found.
        without: The tasks to leave out; by default the two that the first platform finds hardest.
    """
    import altair as alt

    if not study.capacities.tasks or not study.platforms:
        return None
    shown = versions(study.capacities, next(iter(study.platforms.values())), without)
    panels = [_curves(study, left_out, chr(ord("a") + n)) for n, left_out in enumerate(shown)]
    title = heading(
        f"{study.name}: capacity and universality",
        [
            "least number of models with which a platform meets a tolerance in every task; "
            "its capacity is where its line begins"
        ],
    )
    return alt.concat(*panels, columns=3, title=title, config=config())


def capacity_map(study: Study, thresholds: Thresholds) -> alt.TopLevelMixin | None:
    """Figure 6: the capacity of each model in each competition, coloured by its regime.

    None where no task has ranks.
    """
    import altair as alt

    if not study.capacities.tasks:
        return None
    cells = [
        {
            "system": cell.model,
            "task": cell.task,
            "capacity": cell.capacity,
            "regime": cell.regime,
            "text": "n/a" if cell.capacity is None else f"{cell.capacity:.2f}",
        }
        for cell in heat_map(study.capacities, thresholds)
    ]
    tasks = [task.name for task in study.by_size() if task.name in study.capacities.tasks]
    base = alt.Chart(alt.InlineData(values=cells)).encode(
        x=alt.X("task:N", sort=tasks, title="task, by training rows", axis=_flat()),
        y=alt.Y("system:N", sort=list(study.capacities.models), title=None),
    )
    names = _regime_names(thresholds)
    colour = alt.Color(
        "regime:N",
        scale=alt.Scale(domain=list(_REGIME_COLOURS), range=list(_REGIME_COLOURS.values())),
        legend=alt.Legend(title="tolerance (%)", labelExpr=f"({_lookup(names)})[datum.label]"),
    )
    layers = alt.layer(
        base.mark_rect(stroke="white", color="#F2F2F2"),
        base.transform_filter("datum.regime !== null")
        .mark_rect(stroke="white")
        .encode(color=colour),
        base.mark_text(fontSize=11).encode(
            text="text:N",
            color=alt.condition("datum.regime === 'low'", alt.value("white"), alt.value("black")),
        ),
        width=_CELL["width"] * len(tasks),
        height=_CELL["height"] * len(study.capacities.models),
    )
    title = heading(
        f"{study.name}: capacity", ["the least quality tolerance (%) that a model meets in a task"]
    )
    return alt.concat(layers, title=title, config=config())


def _curves(study: Study, left_out: Sequence[str], number: str) -> alt.LayerChart | alt.FacetChart:
    import altair as alt

    found = study.capacities.without(left_out)
    platforms = list(study.platforms)
    curves = {name: tolerance_curve(found, study.platforms[name]) for name in platforms}
    most = max((len(step.models) for curve in curves.values() for step in curve), default=1)
    base = alt.Chart(alt.InlineData(values=_points(curves))).encode(
        x=alt.X(
            "tolerance:Q",
            scale=alt.Scale(domain=[0, 100]),
            title="quality tolerance (%)",
        ),
        y=alt.Y(
            "models:Q",
            scale=alt.Scale(domain=[0, most + 0.6], nice=False),
            axis=alt.Axis(values=list(range(most + 1)), format="d"),
            title=f"models needed for {_all(len(found.tasks))}",
        ),
        color=alt.Color(
            "platform:N",
            scale=alt.Scale(domain=platforms, range=COLOURS[: len(platforms)]),
            legend=alt.Legend(title="platform", symbolOpacity=1),
        ),
    )
    steps = base.transform_filter("datum.label !== ''")
    # The first platform's labels above its line, the others' below: their lines may coincide.
    first = f"datum.platform === {json.dumps(platforms[0])}"
    labels = [
        half.encode(text="label:N")
        for side, dy in ((first, -9), (f"!({first})", 12))
        for half in (
            steps.transform_filter(f"{side} && datum.tolerance < 60").mark_text(
                align="left", dx=4, dy=dy, fontSize=11
            ),
            steps.transform_filter(f"{side} && datum.tolerance >= 60").mark_text(
                align="right", dy=dy, fontSize=11
            ),
        )
    ]
    return alt.layer(
        base.mark_line(interpolate="step-after", strokeWidth=2.5).encode(
            strokeDash=alt.StrokeDash(
                "platform:N", scale=alt.Scale(domain=platforms, range=_dashes(platforms))
            )
        ),
        steps.mark_point(filled=True, size=50, opacity=1),
        *labels,
        title=f"({number}) {_without(left_out)}",
        width=290,
        height=220,
    )


def _points(curves: dict[str, tuple[Step, ...]]) -> list[dict[str, object]]:
    points: list[dict[str, object]] = []
    for platform, steps in curves.items():
        for step in steps:
            label = f"{step.tolerance:.2f}: {', '.join(step.models)}"
            points.append(
                {
                    "platform": platform,
                    "tolerance": step.tolerance,
                    "models": len(step.models),
                    "label": label,
                }
            )
        if steps:
            end = {"platform": platform, "tolerance": 100.0, "models": len(steps[-1].models)}
            points.append({**end, "label": ""})
    return points


def _dashes(platforms: Sequence[str]) -> list[list[int]]:
    return [[1, 0] if index == 0 else [6, 1 + 2 * index] for index in range(len(platforms))]


def _all(tasks: int) -> str:
    return "the task" if tasks == 1 else f"all {tasks} tasks"


def _without(left_out: Sequence[str]) -> str:
    return f"without {', '.join(left_out)}" if left_out else "all tasks with ranks"


def _regime_names(limits: Thresholds) -> dict[str, str]:
    return {
        "low": f"low: below {limits.low:g}",
        "middle": f"middle: to {limits.middle:g}",
        "high": f"high: to {limits.high:g}",
        "outside": f"above {limits.high:g}",
    }


def _lookup(names: dict[str, str]) -> str:
    return "{" + ", ".join(f"'{key}': '{name}'" for key, name in names.items()) + "}"


def _flat() -> alt.Axis:
    import altair as alt

    return alt.Axis(labelAngle=0)
