"""The closed gap: how much of the way from the single best to the virtual best a technique goes.

Assembled-OpenML (Purucker and Beel, 2022), section 4: 0 is as good as the best base model, 1 as
good as an oracle that picks the right model for each row.
"""

from __future__ import annotations

import statistics
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

LARGE_ROWS = 1900
"""Rows from which on the paper counts a task as large: there folds vary less."""

_ROUNDING = 1e-12
"""Means over folds that are equal on paper may differ by as much."""


@dataclass(frozen=True)
class Spread:
    """A mean over tasks.

    Attributes:
        mean: Of the tasks' values.
        std: Their sample standard deviation (ddof 1); None for a single task.
        tasks: How many there are.
    """

    mean: float
    std: float | None
    tasks: int


@dataclass(frozen=True)
class ClosedGaps:
    """Techniques between the bounds of each task.

    Attributes:
        by_task: By task, by technique, its closed gap.
        without_gap: The tasks where the virtual best is no better than the single best.
    """

    by_task: Mapping[str, Mapping[str, float]]
    without_gap: tuple[str, ...]

    def spread(self, tasks: Container[str] | None = None) -> dict[str, Spread] | None:
        """By technique its mean closed gap over some tasks, else over all.

        Each technique's mean is over the tasks that have it. None where there is no task.
        """
        values: dict[str, list[float]] = {}
        for task, gaps in self.by_task.items():
            if tasks is None or task in tasks:
                for technique, gap in gaps.items():
                    values.setdefault(technique, []).append(gap)
        return {name: spread(found) for name, found in values.items()} or None


def closed_gap(score: float, single_best: float, virtual_best: float) -> float | None:
    """(m - m_SBA) / (m_VBA - m_SBA); None where the bounds are equal.

    Args:
        score: The technique's mean over a task's folds, higher is better.
        single_best: That of the base model which is best on the rows that techniques learn from.
        virtual_best: That of the oracle.
    """
    gap = virtual_best - single_best
    return (score - single_best) / gap if abs(gap) > _ROUNDING else None


def closed_gaps(
    scores: Mapping[str, Mapping[str, float]], single_best: str, virtual_best: str
) -> ClosedGaps:
    """The closed gaps of all techniques on all tasks.

    Args:
        scores: By task, by technique, the mean over its folds; the bounds are among them.
        single_best: The lower bound's name.
        virtual_best: The upper bound's name.
    """
    by_task: dict[str, dict[str, float]] = {}
    without_gap = []
    for task, found in scores.items():
        gaps = {
            technique: closed_gap(score, found[single_best], found[virtual_best])
            for technique, score in found.items()
            if technique not in (single_best, virtual_best)
        }
        there = {technique: gap for technique, gap in gaps.items() if gap is not None}
        if there:
            by_task[task] = there
        else:
            without_gap.append(task)
    return ClosedGaps(by_task, tuple(without_gap))


def spread(values: Iterable[float]) -> Spread:
    """The mean and the sample standard deviation of one technique's closed gaps."""
    found = list(values)
    std = statistics.stdev(found) if len(found) > 1 else None
    return Spread(statistics.fmean(found), std, len(found))
