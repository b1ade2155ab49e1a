"""Which system to use with so much time and so much tolerance."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runner.mlbench.linearity import SMALL_ROWS
from runner.mlbench.study import Result, Study, Task

TOLERANCES = (1.0, 5.0, 10.0)
"""Percent of top teams: the ends of the paper's regimes."""
GAPS = (0.001, 0.005, 0.02)
"""AUC behind a task's best system, where there are no leaderboards."""


@dataclass(frozen=True)
class Recommendation:
    """What to use on data of some size, and how often that would have been right.

    Attributes:
        size: ``small`` or ``large``.
        budget: Seconds for a system's whole grid.
        tolerance: Percent of top teams (``by`` is ``rank``), or AUC behind the best system.
        systems: Those that stay within the budget and meet the tolerance on most tasks, the
            fastest first where they are several; none where no system does on any task.
        met: On how many tasks.
        tasks: Of how many.
        seconds: The first one's median time on those tasks.
    """

    size: str
    by: str
    budget: float
    tolerance: float
    systems: tuple[str, ...]
    met: int
    tasks: int
    seconds: float | None


def recommend(
    study: Study,
    *,
    budgets: Sequence[float] | None = None,
    tolerances: Sequence[float] | None = None,
    small_rows: int = SMALL_ROWS,
) -> tuple[Recommendation, ...]:
    """A row for every size of data, budget and tolerance.

    Args:
        study: What was found.
        budgets: Seconds; by default the powers of ten that the times on data of that size span.
        tolerances: Percent of top teams, or (unless every task has ranks) AUC behind the best
            system; by default ``TOLERANCES`` or ``GAPS``.
        small_rows: Data sets of fewer training rows are small.

    Returns:
        Nothing where no system has both a time and an AUC.
    """
    scored = {result.task for result in study.results if result.auc is not None}
    by = "rank" if scored <= set(study.capacities.tasks) else "auc"
    cases = [case for task in study.tasks for case in _cases(study, task, by, small_rows)]
    if not cases:
        return ()
    limits = tolerances or (TOLERANCES if by == "rank" else GAPS)
    found: list[Recommendation] = []
    for size in ("small", "large"):
        own = [case for case in cases if case.size == size]
        for budget in (budgets or _decades([case.seconds for case in own])) if own else ():
            found += [_best(own, by, budget, tolerance) for tolerance in limits]
    return tuple(found)


@dataclass(frozen=True)
class _Case:
    """One system on one task: what it costs and how far from the best it ends."""

    task: str
    system: str
    size: str
    seconds: float
    distance: float


def _cases(study: Study, task: Task, by: str, small_rows: int) -> Iterator[_Case]:
    if task.rows is None:
        return
    size = "small" if task.rows < small_rows else "large"
    results = [study.result(task.name, system.name) for system in study.systems]
    best = max((result.auc for result in results if result.auc is not None), default=None)
    for result in results:
        distance = study.tolerance(result) if by == "rank" else _behind(result, best)
        if distance is not None and result.total_seconds is not None:
            yield _Case(task.name, result.system, size, result.total_seconds, distance)


def _behind(result: Result, best: float | None) -> float | None:
    return None if result.auc is None or best is None else round(best - result.auc, 12)


def _best(cases: Sequence[_Case], by: str, budget: float, tolerance: float) -> Recommendation:
    met: dict[str, list[float]] = {}
    for case in cases:
        if case.seconds <= budget and case.distance <= tolerance:
            met.setdefault(case.system, []).append(case.seconds)
    most = max(map(len, met.values()), default=0)
    chosen = {system: seconds for system, seconds in met.items() if len(seconds) == most}
    systems = sorted(chosen, key=lambda system: statistics.median(chosen[system]))
    return Recommendation(
        size=cases[0].size,
        by=by,
        budget=budget,
        tolerance=tolerance,
        systems=tuple(systems),
        met=most,
        tasks=len({case.task for case in cases}),
        seconds=statistics.median(chosen[systems[0]]) if systems else None,
    )


def _decades(seconds: Sequence[float]) -> list[float]:
    known = [value for value in seconds if value > 0]
    if not known:
        return [1.0]
    # The first power within which something ends, to the first within which everything does.
    first, last = math.ceil(math.log10(min(known))), math.ceil(math.log10(max(known)))
    return [10.0**power for power in range(first, last + 1)]
