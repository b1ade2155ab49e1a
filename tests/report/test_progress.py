"""How far a run is, against counts over its rows and the selection of the sweep."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

from runner.report import summary
from runner.report.progress import Progress, ProgressReader
from runner.store import Store

from .conftest import START, evaluation, plan, synthetic_rows

Record = Callable[..., Store]


def progress(store: Store) -> Progress:
    found = ProgressReader(store).read()
    assert found is not None
    return found


def test_counts_are_those_of_the_rows(record: Record) -> None:
    rows = synthetic_rows()
    found = progress(record(rows, plan(), ended=False))
    assert found.outcomes == Counter(row["outcome"] for row in rows)
    assert found.done == len(rows)
    assert found.planned == sum(len(wanted.keys) for wanted in plan()) + len(plan())
    assert not found.ended
    for pair in found.pairs:
        own = [r for r in rows if (r["task"], r["system"]) == (pair.task.name, pair.system)]
        assert pair.outcomes == Counter(row["outcome"] for row in own)


def test_the_best_is_the_one_that_the_sweep_would_select(record: Record) -> None:
    store = record(synthetic_rows(), plan(), ended=False)
    selected = {(r["task"], r["system"]): r for r in summary(store).to_pylist()}
    for pair in progress(store).pairs:
        row = selected[pair.task.name, pair.system]
        assert pair.best is not None
        assert pair.best.configuration_id == row["configuration_id"]
        assert math.isclose(pair.best.auc or 0, row["cv_auc"], rel_tol=1e-12)


def test_refits_are_counted_apart(record: Record) -> None:
    test = evaluation("wdbc", "C-BDT", 0, None) | {"score": 0.5}
    store = record([*synthetic_rows(), test], plan(), tests=(test["key"],), ended=False)
    found = progress(store)
    assert (found.refits.planned, found.refits.done) == (len(plan()), 1)
    assert found.done == len(synthetic_rows()) + 1


def test_only_own_rows_tell_the_time(record: Record) -> None:
    rows: list[dict[str, Any]] = synthetic_rows()
    for row in rows:
        row["wall_seconds"] = 2.0
    rows[0]["run_id"] = "earlier"
    rows[0] |= {"started_at": START.replace(year=2020), "wall_seconds": 1e6}
    rows[1]["wall_seconds"] = 7.0
    found = progress(record(rows, plan(), ended=False))
    assert found.begun == START.timestamp()
    assert found.last == START.timestamp() + 7.0
    assert found.longest == 7.0
    assert found.own == len(rows) - 1


def test_what_is_committed_is_seen_and_nothing_is_read_twice(record: Record) -> None:
    rows = synthetic_rows()
    store = record(rows[:40], plan(), ended=False)
    reader = ProgressReader(store)
    first = reader.read()
    assert reader.read() is first
    record(rows[40:], plan(), run_id="r2", hours=1, ended=False)
    second = reader.read()
    assert second is not None
    assert (second.run_id, second.done) == ("r2", len(rows))


def test_no_run(tmp_path: Any) -> None:
    assert ProgressReader(Store.create(tmp_path / "results")).read() is None
