"""Which times stand in a report, what they add up to, and how sure that is."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from runner.report.groups import Floats, Groups, Ints
from runner.report.rows import Rows


@dataclass(frozen=True, eq=False)
class Times:
    """Times, and the lowest and highest of their repeats where they were taken more than once.

    Whatever the distribution, N independent values of it have its median between their lowest and
    their highest with probability 1 - 2^(1-N): it lies outside only if all are on one side of it.

    Attributes:
        seconds: NaN for none, as in the others.
    """

    seconds: Floats
    low: Floats
    high: Floats


def training_times(labels: Ints, evaluations: Groups, seconds: Floats, repeats: Ints) -> Times:
    """For each of some groups the sum of ``fit_seconds`` over configurations and folds.

    Over repeats the median sum; where an evaluation lacks a repeat, the sum of the evaluations'
    means, which has no interval: sums of unlike many evaluations don't compare.

    Args:
        labels: For each row the number of its group, rising.
        evaluations: The rows of each evaluation, its repeats in order.
        seconds: A row each; all have one.
        repeats: For each group how often each evaluation was planned.
    """
    found = Times(*(np.full(len(repeats), np.nan) for _ in range(3)))
    groups = Groups.of(labels[evaluations.starts])
    if not len(groups.sizes):
        return found
    own = labels[evaluations.starts][groups.starts]
    found.seconds[own] = groups.sums(evaluations.sums(seconds) / evaluations.sizes)
    whole = np.minimum.reduceat(evaluations.sizes, groups.starts) >= repeats[own]
    for place in np.flatnonzero(whole & (repeats[own] > 1)):
        group = own[place]
        first, last = evaluations.bounds[groups.bounds[place : place + 2]]
        by_repeat = seconds[first:last].reshape(-1, repeats[group]).T
        sums = [math.fsum(times) for times in by_repeat.tolist()]
        found.seconds[group] = statistics.median(sums)
        found.low[group], found.high[group] = min(sums), max(sums)
    return found


def confidence(repeats: int) -> float:
    """With what probability the lowest and highest of independent repeats enclose the median."""
    return 1 - 2.0 ** (1 - repeats)


def comparable(rows: Rows) -> Rows:
    """The rows with the times of one kind alone: packed or exclusive, of a sandbox as asked for or
    shrunk, whichever most rows are of.

    A system on a task that has times of another kind loses all its times in cross-validation: a
    sum over some of the evaluations would look like a total.
    """
    kind, stage, pair = rows.texts("kind"), rows.texts("stage"), rows.pair
    kinds = kind.counts(rows.timed & rows.own)
    if len(kinds) < 2:
        return rows
    kept = min(kinds, key=lambda kind: (-kinds[kind], kind))
    cv, other = stage.equal("cv"), ~kind.equal(kept)
    mixed = np.unique(pair[cv & other & rows.timed])
    without = (cv & np.isin(pair, mixed)) | (stage.equal("test") & other)
    seconds = pc.if_else(pa.array(~without), rows.table["fit_seconds"], None)
    place = rows.table.schema.get_field_index("fit_seconds")
    table = rows.table.set_column(place, "fit_seconds", seconds)
    return replace(rows, table=table, kinds=kinds, kept=kept, mixed=frozenset(mixed.tolist()))


def machine_letters(rows: Rows) -> Mapping[str, str]:
    """A letter for each kind of machine that times were taken on, A for the one of most."""
    counts = machine_counts(rows)
    ordered = sorted(counts, key=lambda machine: (-counts[machine], machine))
    return {machine: _letter(number) for number, machine in enumerate(ordered)}


def machine_counts(rows: Rows) -> Mapping[str, int]:
    """How many times were taken on which kind of machine."""
    machine = rows.texts("machine")
    return machine.counts(rows.timed & rows.own & ~machine.equal(""))


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else f"M{number + 1}"
