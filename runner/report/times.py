"""Which times stand in a report, what they add up to, and how sure that is."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from runner.report.rows import Row, Rows


@dataclass(frozen=True)
class Time:
    """A time, and the lowest and highest of its repeats where it was taken more than once.

    Whatever the distribution, N independent values of it have its median between their lowest and
    their highest with probability 1 - 2^(1-N): it lies outside only if all are on one side of it.
    """

    seconds: float | None
    low: float | None = None
    high: float | None = None


def training_time(rows: Iterable[Row], repeats: int) -> Time:
    """The sum of ``fit_seconds`` over configurations and folds.

    Over repeats the median sum; where an evaluation lacks a repeat, the sum of the evaluations'
    means, which has no interval: sums of unlike many evaluations don't compare.

    Args:
        rows: Rows of one system on one task, those without a time among them.
        repeats: How often each evaluation was planned.
    """
    by_evaluation: dict[tuple[int, int | None], dict[int, float]] = defaultdict(dict)
    for row in rows:
        if row.fit_seconds is not None:
            by_evaluation[row.configuration_id, row.fold][row.repeat or 0] = row.fit_seconds
    found = list(by_evaluation.values())
    if not found:
        return Time(None)
    if repeats < 2 or any(len(times) < repeats for times in found):
        return Time(math.fsum(statistics.fmean(times.values()) for times in found))
    sums = [math.fsum(times[repeat] for times in found) for repeat in range(repeats)]
    return Time(statistics.median(sums), min(sums), max(sums))


def confidence(repeats: int) -> float:
    """With what probability the lowest and highest of independent repeats enclose the median."""
    return 1 - 2.0 ** (1 - repeats)


def comparable(rows: Rows) -> Rows:
    """The rows with the times of one kind alone: packed or exclusive, of a sandbox as asked for or
    shrunk, whichever most rows are of.

    A system on a task that has times of another kind loses all its times in cross-validation: a
    sum over some of the evaluations would look like a total.
    """
    kinds = Counter(row.kind for row in rows if row.fit_seconds is not None)
    if len(kinds) < 2:
        return rows
    kept = min(kinds, key=lambda kind: (-kinds[kind], kind))
    pairs = tuple(
        replace(
            pair,
            cv=_without_times(pair.cv) if _has_others(pair.cv, kept) else pair.cv,
            tests=tuple(row for test in pair.tests for row in _without_times([test], unless=kept)),
        )
        for pair in rows.pairs
    )
    return replace(rows, pairs=pairs, kinds=dict(kinds), kept=kept)


def _has_others(rows: Iterable[Row], kept: str) -> bool:
    return any(row.fit_seconds is not None and row.kind != kept for row in rows)


def _without_times(rows: Iterable[Row], unless: str | None = None) -> tuple[Row, ...]:
    return tuple(row if row.kind == unless else replace(row, fit_seconds=None) for row in rows)


def machine_letters(rows: Iterable[Row]) -> Mapping[str, str]:
    """A letter for each kind of machine that times were taken on, A for the one of most."""
    counts = Counter(row.machine for row in rows if row.machine and row.fit_seconds is not None)
    ordered = sorted(counts, key=lambda machine: (-counts[machine], machine))
    return {machine: _letter(number) for number, machine in enumerate(ordered)}


def machines(rows: Sequence[Row], letters: Mapping[str, str]) -> str | None:
    """The letters of the machines on which these rows' times were taken, joined by ``+``."""
    used = {row.machine for row in rows if row.machine and row.fit_seconds is not None}
    return "+".join(sorted(letters[machine] for machine in used)) or None


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else f"M{number + 1}"
