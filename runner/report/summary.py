"""The report's tables: a row for each task and system, and one for each configuration."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from runner.report.groups import Floats, Groups, Ints, Texts
from runner.report.rows import Pair, Rows, load
from runner.report.times import Times, comparable, machine_letters, training_times
from runner.selection import Selection, best, from_folds
from runner.store import OUTCOMES, Store

_COUNTS = [(outcome, pa.int32()) for outcome in (*OUTCOMES, "missing")]

SUMMARY = pa.schema(
    [
        ("task", pa.string()),
        ("system", pa.string()),
        ("configuration_id", pa.int32()),
        ("configuration", pa.string()),
        ("cv_auc", pa.float64()),
        ("cv_auc_sd", pa.float64()),
        ("test_auc", pa.float64()),
        ("test_outcome", pa.string()),
        ("total_training_seconds", pa.float64()),
        ("average_training_seconds", pa.float64()),
        ("refit_seconds", pa.float64()),
        ("configurations", pa.int32()),
        ("folds", pa.int32()),
        ("timing", pa.string()),
        *_COUNTS,
        ("total_training_seconds_low", pa.float64()),
        ("total_training_seconds_high", pa.float64()),
        ("repeats", pa.int32()),
        ("machines", pa.string()),
        ("fitted", pa.int32()),
        ("external_auc", pa.float64()),
    ]
)

CONFIGURATIONS = pa.schema(
    [
        ("task", pa.string()),
        ("system", pa.string()),
        ("configuration_id", pa.int32()),
        ("configuration", pa.string()),
        ("cv_auc", pa.float64()),
        ("cv_auc_sd", pa.float64()),
        ("training_seconds", pa.float64()),
        ("selected", pa.bool_()),
        *_COUNTS[:-1],
        ("training_seconds_low", pa.float64()),
        ("training_seconds_high", pa.float64()),
        ("machines", pa.string()),
    ]
)


@dataclass(frozen=True)
class Tables:
    """A run's rows summed up.

    Attributes:
        summary: A row for each task and system, with the columns of ``SUMMARY``.
        configurations: One for each configuration, with the columns of ``CONFIGURATIONS``.
    """

    summary: pa.Table
    configurations: pa.Table


def summary(store: Store, run_id: str | None = None) -> pa.Table:
    """One row for each task and system that a run planned, with the columns of ``SUMMARY``.

    docs/results.md defines them. The best configuration is chosen as the sweep chooses it
    (runner.selection); where no configuration has all its folds, it and its scores are null.

    Args:
        store: The results.
        run_id: The run; by default the latest one.

    Raises:
        InputError: There is no such run.
    """
    return tabulate(comparable(load(store, run_id))).summary


def configurations(store: Store, run_id: str | None = None) -> pa.Table:
    """One row for each configuration, with the columns of ``CONFIGURATIONS``.

    Takes and raises what :func:`summary` does.
    """
    return tabulate(comparable(load(store, run_id))).configurations


def tabulate(rows: Rows) -> Tables:
    """:func:`summary` and :func:`configurations` of rows already loaded, with times of one kind."""
    cv = _Sorted(rows)
    selections = _selections(cv)
    chosen = _chosen(cv, selections)
    found = pa.Table.from_pylist([*_summary_rows(cv, selections, chosen)], schema=SUMMARY)
    return Tables(found, _configurations(cv, selections, chosen))


class _Sorted:
    """A run's rows of cross-validation, sorted by pair, configuration, fold and repeat.

    Attributes:
        configurations: The rows of each configuration of a pair.
        label: For each row the number of its configuration among these.
        owner: For each configuration the number of its pair.
    """

    def __init__(self, rows: Rows):
        self.run = rows
        cv = rows.stage("cv")
        keys = [cv.integers(name) for name in ("repeat", "fold", "configuration_id", "pair")]
        order = pa.array(np.lexsort(keys))
        columns = [name for name in cv.table.column_names if name != "key"]
        self.rows = replace(cv, table=cv.table.select(columns).take(order))
        self.pair, self.fold = self.rows.pair, self.rows.integers("fold")
        self.configuration_id = self.rows.integers("configuration_id")
        self.configurations = Groups.of(self.pair, self.configuration_id)
        self.label = self.configurations.labels()
        self.owner = self.pair[self.configurations.starts]

    def __len__(self) -> int:
        return len(self.owner)

    def of_pairs(self, values: Iterable[int]) -> Ints:
        """A number of each pair, for each configuration."""
        return np.array([*values, 0], int)[self.owner]

    def times(self, labels: Ints, repeats: Ints) -> Times:
        """The training times of groups of rows, whose numbers rise with the rows."""
        timed = self.rows.timed
        evaluations = Groups.of(self.label[timed], self.fold[timed])
        seconds = self.rows.floats("fit_seconds")[timed]
        return training_times(labels[timed], evaluations, seconds, repeats)

    def outcomes(self, labels: Ints, count: int) -> Mapping[str, Ints]:
        """How many rows of each group have which outcome."""
        found = self.rows.texts("outcome")
        return {
            outcome: np.bincount(labels[found.equal(outcome)], minlength=count)
            for outcome in OUTCOMES
        }


def _selections(cv: _Sorted) -> list[Selection | None]:
    """What each configuration's scores come to; None where it lacks one."""
    scores = cv.rows.floats("score")
    usable = cv.rows.texts("outcome").equal("ok") & np.isfinite(scores)
    label, listed = cv.label[usable], scores[usable].tolist()
    folds = Groups.of(label, cv.fold[usable])
    groups = Groups.of(label[folds.starts])
    found: list[Selection | None] = [None] * len(cv)
    if not listed:
        return found
    own = label[folds.starts][groups.starts]
    repeats = cv.of_pairs(pair.repeats for pair in cv.run.pairs)[own]
    whole = (
        (groups.sizes == cv.of_pairs(pair.folds for pair in cv.run.pairs)[own])
        & (np.minimum.reduceat(folds.sizes, groups.starts) == repeats)
        & (np.maximum.reduceat(folds.sizes, groups.starts) == repeats)
    )
    ids = cv.configuration_id[cv.configurations.starts].tolist()
    bounds, ends = folds.bounds.tolist(), groups.bounds.tolist()
    for place in np.flatnonzero(whole).tolist():
        of_folds = pairwise(bounds[ends[place] : ends[place + 1] + 1])
        one = own[place]
        found[one] = from_folds(ids[one], [listed[start:end] for start, end in of_folds])
    return found


def _chosen(cv: _Sorted, selections: Sequence[Selection | None]) -> list[int | None]:
    """For each pair the number of its selected configuration."""
    found: list[int | None] = [None] * len(cv.run.pairs)
    pairs = Groups.of(cv.owner)
    for owner, (start, end) in zip(cv.owner[pairs.starts], pairwise(pairs.bounds), strict=True):
        own = selections[start:end]
        selected = best(one for one in own if one is not None)
        if selected is not None:
            found[owner] = start + own.index(selected)
    return found


def _configurations(
    cv: _Sorted, selections: Sequence[Selection | None], chosen: Sequence[int | None]
) -> pa.Table:
    pairs, starts = cv.run.pairs, cv.configurations.starts
    owner = pa.array(cv.owner)
    times = cv.times(cv.label, cv.of_pairs(pair.repeats for pair in pairs))
    columns = {
        "task": pa.array([pair.task for pair in pairs], pa.string()).take(owner),
        "system": pa.array([pair.system for pair in pairs], pa.string()).take(owner),
        "configuration_id": cv.configuration_id[starts],
        "configuration": cv.rows.table["configuration"].take(pa.array(starts)),
        "cv_auc": [None if one is None else one.mean for one in selections],
        "cv_auc_sd": [None if one is None else one.deviation for one in selections],
        "training_seconds": _nullable(times.seconds),
        "selected": np.isin(np.arange(len(cv)), [one for one in chosen if one is not None]),
        **cv.outcomes(cv.label, len(cv)),
        "training_seconds_low": _nullable(times.low),
        "training_seconds_high": _nullable(times.high),
        "machines": _machines(cv, cv.label, len(cv)),
    }
    return pa.table(columns).cast(CONFIGURATIONS)


def _summary_rows(
    cv: _Sorted, selections: Sequence[Selection | None], chosen: Sequence[int | None]
) -> Iterator[dict[str, Any]]:
    others = _others(cv.run)
    texts = cv.rows.texts("configuration")
    starts = cv.configurations.starts
    sums = pa.table(_sums(cv)).to_pylist()
    for number, (pair, own) in enumerate(zip(cv.run.pairs, sums, strict=True)):
        one = chosen[number]
        selection = None if one is None else selections[one]
        if one is not None and selection is not None:
            own["configuration"] = texts.values[texts.codes[starts[one]]]
            own |= _selected(pair, selection, others[number])
        yield own


def _sums(cv: _Sorted) -> dict[str, Any]:
    """The columns of a summary that are about all configurations."""
    pairs, rows = cv.run.pairs, cv.rows
    count = len(pairs)
    times = cv.times(cv.pair, np.array([pair.repeats for pair in pairs], int))
    timed = np.bincount(cv.owner[np.unique(cv.label[rows.timed])], minlength=count)
    return {
        "task": [pair.task for pair in pairs],
        "system": [pair.system for pair in pairs],
        "folds": [pair.folds for pair in pairs],
        "repeats": [pair.repeats for pair in pairs],
        "total_training_seconds": _nullable(times.seconds),
        "total_training_seconds_low": _nullable(times.low),
        "total_training_seconds_high": _nullable(times.high),
        "average_training_seconds": _nullable(times.seconds / np.maximum(timed, 1)),
        "configurations": np.bincount(cv.owner, minlength=count),
        "timing": rows.texts("timing").joined(cv.pair, count, np.ones(len(cv.pair), bool)),
        **cv.outcomes(cv.pair, count),
        "missing": [pair.planned for pair in pairs] - np.bincount(cv.pair, minlength=count),
        "machines": _machines(cv, cv.pair, count),
        "fitted": np.bincount(cv.pair[rows.table["fitted"].to_numpy()], minlength=count),
    }


def _others(rows: Rows) -> Mapping[int, list[dict[str, Any]]]:
    """By pair the rows that aren't of cross-validation, which are few."""
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows.only(~rows.texts("stage").equal("cv")).table.to_pylist():
        found[row["pair"]].append(row)
    return found


def _selected(
    pair: Pair, selection: Selection, others: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    chosen = selection.configuration_id
    own = [row for row in others if row["configuration_id"] == chosen]
    tests = [row for row in own if row["stage"] == "test"]
    outcomes = [row["outcome"] for row in tests]
    outcome = None if pair.untested else _test_outcome(outcomes, pair.repeats)
    refits = [row["fit_seconds"] for row in tests if row["fit_seconds"] is not None]
    # None where only a competition has the labels.
    scores = [row["score"] for row in tests if row["score"] is not None]
    return {
        "configuration_id": chosen,
        "cv_auc": selection.mean,
        "cv_auc_sd": selection.deviation,
        "test_auc": statistics.fmean(scores) if outcome == "ok" and scores else None,
        "test_outcome": outcome,
        "refit_seconds": statistics.median(refits) if refits else None,
        "external_auc": next((row["score"] for row in own if row["stage"] == "external"), None),
    }


def _test_outcome(outcomes: Sequence[str], repeats: int) -> str:
    failed = next((outcome for outcome in outcomes if outcome != "ok"), None)
    return failed or ("ok" if len(outcomes) >= repeats else "missing")


def _machines(cv: _Sorted, labels: Ints, count: int) -> list[str | None]:
    """The letters of the machines on which each group's times were taken."""
    letters, machine = machine_letters(cv.run), cv.rows.texts("machine")
    named = Texts(machine.codes, [letters.get(value, "") for value in machine.values])
    return named.joined(labels, count, cv.rows.timed)


def _nullable(values: Floats) -> pa.Array:
    return pa.array(values, from_pandas=True)
