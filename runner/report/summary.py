"""The report's tables: a row for each task and system, and one for each configuration."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from runner.report.rows import Pair, Row, Rows, load
from runner.report.times import comparable, machine_letters, machines, training_time
from runner.selection import Scored, Selection, select, summarise
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
    return summarise_pairs(comparable(load(store, run_id)))


def configurations(store: Store, run_id: str | None = None) -> pa.Table:
    """One row for each configuration, with the columns of ``CONFIGURATIONS``.

    Takes and raises what :func:`summary` does.
    """
    return list_configurations(comparable(load(store, run_id)))


def summarise_pairs(rows: Rows) -> pa.Table:
    """:func:`summary` of rows already loaded, with times of one kind."""
    letters = machine_letters(rows)
    found = [_summary_row(pair, letters) for pair in rows.pairs]
    return pa.Table.from_pylist(found, schema=SUMMARY)


def list_configurations(rows: Rows) -> pa.Table:
    """:func:`configurations` of rows already loaded, with times of one kind."""
    letters = machine_letters(rows)
    found = [row for pair in rows.pairs for row in _configuration_rows(pair, letters)]
    return pa.Table.from_pylist(found, schema=CONFIGURATIONS)


def _summary_row(pair: Pair, letters: Mapping[str, str]) -> dict[str, Any]:
    selection = select(_scored(pair.cv), pair.folds, pair.repeats)
    total = training_time(pair.cv, pair.repeats)
    timed = {row.configuration_id for row in pair.cv if row.fit_seconds is not None}
    return {
        "task": pair.task,
        "system": pair.system,
        **_selected(pair, selection),
        "total_training_seconds": total.seconds,
        "total_training_seconds_low": total.low,
        "total_training_seconds_high": total.high,
        "average_training_seconds": None if total.seconds is None else total.seconds / len(timed),
        "configurations": len({row.configuration_id for row in pair.cv}),
        "folds": pair.folds,
        "timing": "+".join(sorted({row.timing for row in pair.cv if row.timing})) or None,
        **_counts(pair.cv),
        "missing": pair.missing,
        "repeats": pair.repeats,
        "machines": machines(pair.cv, letters),
        "fitted": sum(row.fitted for row in pair.cv),
    }


def _selected(pair: Pair, selection: Selection | None) -> dict[str, Any]:
    if selection is None:
        return {}
    chosen = selection.configuration_id
    tests = [row for row in pair.tests if row.configuration_id == chosen]
    outcome = None if pair.untested else _test_outcome(tests, pair.repeats)
    refits = [row.fit_seconds for row in tests if row.fit_seconds is not None]
    # None where only a competition has the labels.
    scores = _scores(tests)
    return {
        "configuration_id": chosen,
        "configuration": next(r.configuration for r in pair.cv if r.configuration_id == chosen),
        "cv_auc": selection.mean,
        "cv_auc_sd": selection.deviation,
        "test_auc": statistics.fmean(scores) if outcome == "ok" and scores else None,
        "test_outcome": outcome,
        "refit_seconds": statistics.median(refits) if refits else None,
        "external_auc": next(
            (row.score for row in pair.external if row.configuration_id == chosen), None
        ),
    }


def _test_outcome(tests: Sequence[Row], repeats: int) -> str:
    failed = next((row.outcome for row in tests if row.outcome != "ok"), None)
    return failed or ("ok" if len(tests) >= repeats else "missing")


def _scores(rows: Iterable[Row]) -> list[float]:
    return [row.score for row in rows if row.score is not None]


def _configuration_rows(pair: Pair, letters: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    by_id: dict[int, list[Row]] = defaultdict(list)
    for row in pair.cv:
        by_id[row.configuration_id].append(row)
    selection = select(_scored(pair.cv), pair.folds, pair.repeats)
    means = summarise(_scored(pair.cv), pair.folds, pair.repeats)
    for configuration_id, rows in sorted(by_id.items()):
        mean = means[configuration_id]
        time = training_time(rows, pair.repeats)
        yield {
            "task": pair.task,
            "system": pair.system,
            "configuration_id": configuration_id,
            "configuration": rows[0].configuration,
            "cv_auc": mean.mean if mean else None,
            "cv_auc_sd": mean.deviation if mean else None,
            "training_seconds": time.seconds,
            "training_seconds_low": time.low,
            "training_seconds_high": time.high,
            "machines": machines(rows, letters),
            "selected": selection is not None and selection.configuration_id == configuration_id,
            **_counts(rows),
        }


def _scored(rows: Iterable[Row]) -> list[Scored]:
    return [
        Scored(row.configuration_id, row.fold or 0, row.outcome, row.score, row.repeat or 0)
        for row in rows
    ]


def _counts(rows: Iterable[Row]) -> Mapping[str, int]:
    found = Counter(row.outcome for row in rows)
    return {outcome: found[outcome] for outcome in OUTCOMES}
