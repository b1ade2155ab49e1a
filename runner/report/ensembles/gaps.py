"""The closed gaps of a run, over all tasks and over the large ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runner.ensemble.closed_gap import LARGE_ROWS, Spread, closed_gaps
from runner.report.ensembles.outcome import Outcome

BOUNDS = ("SBA", "VBA")
"""Single and virtual best: 0 and 1 of the closed gap."""


@dataclass(frozen=True)
class Gaps:
    """Closed gaps.

    Attributes:
        by_task: By task, by technique, oracles among them.
        all_tasks: By technique, over all tasks.
        large_tasks: The same over those of ``LARGE_ROWS`` rows at least; empty where there are
            none.
        without_gap: The tasks whose bounds are equal.
        unknown: The tasks whose bounds have no mean.
    """

    by_task: Mapping[str, Mapping[str, float]]
    all_tasks: Mapping[str, Spread]
    large_tasks: Mapping[str, Spread]
    without_gap: tuple[str, ...]
    unknown: tuple[str, ...]


def gaps_of(outcome: Outcome) -> Gaps | None:
    """A run's closed gaps; None where its study lacks a bound."""
    single, virtual = (outcome.called(name) for name in BOUNDS)
    if single is None or virtual is None:
        return None
    scores: dict[str, dict[str, float]] = {}
    for task in outcome.by_size:
        found = {
            name: by_task[task.name]
            for name, by_task in outcome.means.items()
            if task.name in by_task
        }
        if single in found and virtual in found:
            scores[task.name] = found
    gaps = closed_gaps(scores, single, virtual)
    large = {task.name for task in outcome.tasks if task.rows >= LARGE_ROWS}
    return Gaps(
        by_task=gaps.by_task,
        all_tasks=gaps.spread() or {},
        large_tasks=gaps.spread(large) or {},
        without_gap=gaps.without_gap,
        unknown=tuple(task.name for task in outcome.by_size if task.name not in scores),
    )
