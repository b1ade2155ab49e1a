"""The chart of AUC against training time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from runner.report.labels import Panel, Point, place
from runner.report.notes import PACKED
from runner.report.style import COLOURS, SHAPES, by_system, config, heading, seconds_axis

if TYPE_CHECKING:
    import altair as alt

_COLUMNS = 3
# Between the panels' frames, for axes and headings: frames in line look tidier than their bounds.
_SPACING = {"row": 90, "column": 90}
MOST_POINTS = 4000
"""Configurations that a chart shows; beyond, an even choice of them and the selected ones."""
# A logarithm wants a time above zero; a shorter one says no more than this does.
FLOOR_SECONDS = 1e-4


@dataclass(frozen=True)
class Mark:
    """A point of the chart: a configuration, or (``best``) a system's best one.

    Attributes:
        seconds: A configuration's own training time; the whole grid's for the best one.
        own_seconds: A configuration's own training time.
        label_auc: Where a best one's label stands, in the axis' units.
        label_seconds: The same across.
    """

    task: str
    system: str
    auc: float
    seconds: float
    own_seconds: float
    best: bool
    label_auc: float | None = None
    label_seconds: float | None = None


def auc_vs_time(summary: pa.Table, configurations: pa.Table, study: str) -> alt.ConcatChart:
    """A chart of cross-validated AUC against training time, one panel a task.

    A small point is one configuration at its own training time; the large point on the same
    height is the best one at the time that the whole grid took, since finding it took that.

    Args:
        summary: Rows of ``SUMMARY``.
        configurations: Rows of ``CONFIGURATIONS``.
        study: Its name, for the title.
    """
    import altair as alt

    shown = drawn(configurations)
    found = marks(summary, shown.table)
    tasks = list(dict.fromkeys(summary["task"].to_pylist()))
    # By name, so that the same systems look the same in the charts of two studies.
    systems = sorted(set(summary["system"].to_pylist()))
    width, height = (540, 340) if len(tasks) == 1 else (280, 210)
    seconds = _seconds_domain(found)
    panels, data = [], {}
    for task in tasks:
        own = [mark for mark in found if mark.task == task]
        panel = Panel(width, height, seconds, _auc_domain(own))
        name = task if own else f"{task}: no configuration has all its folds ok"
        labelled = _labelled(own, panel)
        data[task] = [vars(mark) for mark in labelled]
        panels.append(_panel(name, task, panel, systems))
    title = heading(f"{study}: AUC against training time", _subtitle(summary, found, shown.few))
    chart = alt.concat(
        *panels, columns=_COLUMNS, bounds="flush", spacing=_SPACING, title=title, config=config()
    )
    # Apart from the panels, each part of which would copy them.
    chart.datasets = data
    return chart


@dataclass(frozen=True)
class Drawn:
    """The configurations that a chart shows.

    Attributes:
        table: Rows of ``CONFIGURATIONS`` with a column ``row``, their place among all.
        among: How many have all folds and a time.
    """

    table: pa.Table
    among: int

    @property
    def few(self) -> str:
        """Where only some of those are shown, how many of how many."""
        return f"{len(self.table):,} of {self.among:,}" if len(self.table) < self.among else ""


def drawn(configurations: pa.Table) -> Drawn:
    """The configurations to draw, of rows of ``CONFIGURATIONS``."""
    complete = pc.and_(
        pc.is_valid(configurations["cv_auc"]), pc.is_valid(configurations["training_seconds"])
    )
    numbered = configurations.append_column("row", pa.array(range(len(configurations))))
    found = numbered.filter(complete)
    step = max(1, -(-len(found) // MOST_POINTS))
    even = pa.array(np.arange(len(found)) % step == 0)
    return Drawn(found.filter(pc.or_(even, found["selected"])), len(found))


def marks(summary: pa.Table, configurations: pa.Table) -> list[Mark]:
    """The points: a configuration each, of those that are drawn, then the best ones."""
    small = {}
    for row in configurations.to_pylist():
        seconds = max(row["training_seconds"], FLOOR_SECONDS)
        mark = Mark(row["task"], row["system"], row["cv_auc"], seconds, seconds, best=False)
        small[mark.task, mark.system, row["configuration_id"]] = mark
    large = []
    for row in summary.to_pylist():
        own = small.get((row["task"], row["system"], row["configuration_id"]))
        if own is not None:
            total = max(row["total_training_seconds"], FLOOR_SECONDS)
            large.append(replace(own, seconds=total, best=True))
    return [*small.values(), *large]


def _labelled(found: Sequence[Mark], panel: Panel) -> list[Mark]:
    best = [mark for mark in found if mark.best]
    spots = place([Point(mark.seconds, mark.auc, mark.system) for mark in best], panel)
    labelled = [
        replace(mark, label_seconds=x, label_auc=y)
        for mark, (x, y) in zip(best, spots, strict=True)
    ]
    return [*(mark for mark in found if not mark.best), *labelled]


def _seconds_domain(found: Sequence[Mark]) -> tuple[float, float]:
    seconds = [value for mark in found for value in (mark.seconds, mark.own_seconds)]
    if not seconds:
        return 0.1, 10.0
    return min(seconds) / 1.6, max(seconds) * 2.5


def _auc_domain(found: Sequence[Mark]) -> tuple[float, float]:
    scores = [mark.auc for mark in found]
    if not scores:
        return 0.5, 1.0
    room = max(0.12 * (max(scores) - min(scores)), 0.002)
    return max(0.0, min(scores) - room), min(1.0, max(scores) + room)


def _panel(
    name: str, data: str, panel: Panel, systems: Sequence[str]
) -> alt.LayerChart | alt.FacetChart:
    import altair as alt

    base = alt.Chart(alt.NamedData(name=data)).encode(
        x=seconds_axis(panel.seconds, "training time, sum over folds (s, log scale)"),
        y=_auc_axis(panel),
        color=by_system(alt.Color, systems, COLOURS),
    )
    shape = by_system(alt.Shape, systems, SHAPES)
    small, large = base.transform_filter("!datum.best"), base.transform_filter("datum.best")
    return alt.layer(
        small.mark_point(filled=True, size=22, opacity=0.4).encode(shape=shape),
        large.mark_rule(strokeDash=[3, 3], opacity=0.8).encode(x2="own_seconds:Q"),
        large.mark_point(filled=True, size=170, opacity=1, stroke="white", strokeWidth=1.5).encode(
            shape=shape
        ),
        large.mark_text(fontWeight="bold", fontSize=12, stroke="white", strokeWidth=3).encode(
            x="label_seconds:Q", y="label_auc:Q", text="system:N"
        ),
        large.mark_text(fontWeight="bold", fontSize=12).encode(
            x="label_seconds:Q", y="label_auc:Q", text="system:N"
        ),
        width=panel.width,
        height=panel.height,
        title=name,
    )


def _auc_axis(panel: Panel) -> alt.Y:
    import altair as alt

    axis = alt.Axis(title="mean AUC in cross-validation", tickCount=6)
    scale = alt.Scale(domain=panel.auc, nice=False, zero=False)
    return alt.Y("auc:Q", scale=scale, axis=axis)


def _subtitle(summary: pa.Table, found: Sequence[Mark], few: str) -> list[str]:
    lines = [
        "small points: configurations at their own time; large: the best one at its grid's time"
    ]
    if not found:
        lines = ["no configuration has all its folds ok"]
    if few:
        lines.append(f"{few} configurations are drawn: the best ones and an even choice.")
    timings = {word for text in summary["timing"].to_pylist() for word in (text or "").split("+")}
    if "packed" in timings:
        lines.append(PACKED)
    used = {row for row in summary["machines"].to_pylist() if row}
    if len(used) > 1 or any("+" in letters for letters in used):
        lines.append("Times of several kinds of machine: not comparable.")
    if any(mark.own_seconds == FLOOR_SECONDS for mark in found):
        lines.append(f"Times below {FLOOR_SECONDS:g} s are drawn at {FLOOR_SECONDS:g} s.")
    return lines
