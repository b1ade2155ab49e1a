"""Merged stores: every attempt, each once, numbered in the order of time; whatever gets killed."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.errors import InputError
from runner.store import ATTEMPTS, OUTCOMES, Merged, Run, Store, Wanted
from runner.store.tables import Table

Rows = Callable[..., pa.Table]
START = datetime(2026, 1, 2, tzinfo=UTC)


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


def stored(store: Store, names: str = "key, attempt, run_id, started_at, outcome") -> list[Any]:
    return store.query(f"select {names} from attempts order by all").to_pylist()


def winners(store: Store) -> dict[str, Any]:
    rows = store.query("select key, run_id, outcome, started_at from evaluations").to_pylist()
    return {row["key"]: row for row in rows}


@pytest.fixture
def other(tmp_path: Path) -> Store:
    """A second store with no rows."""
    return Store.create(tmp_path / "other")


def test_attempts_of_both_are_numbered_by_time(store: Store, other: Store, attempts: Rows) -> None:
    store.append(
        attempts(
            {"key": "a", "started_at": at(10)},
            {"key": "b", "started_at": at(10)},
            {"key": "c", "started_at": at(10), "attempt": 3},
        )
    )
    other.append(
        attempts(
            {"key": "a", "started_at": at(20), "run_id": "r2"},
            {"key": "b", "started_at": at(5), "run_id": "r2"},
            {"key": "d", "started_at": at(5), "run_id": "r2", "attempt": 7},
        )
    )
    assert store.merge(other) == Merged(attempts=3, predictions=0, runs=0, renumbered=1)
    found = store.query("select key, attempt, run_id from attempts order by all").to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("a", 1, "r1"),
        ("a", 2, "r2"),
        ("b", 1, "r2"),
        ("b", 2, "r1"),
        ("c", 3, "r1"),
        ("d", 7, "r2"),
    ]
    assert {key: row["run_id"] for key, row in winners(store).items()} == {
        "a": "r2", "b": "r1", "c": "r1", "d": "r2"
    }  # fmt: skip


histories = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from(OUTCOMES),
        st.one_of(st.none(), st.integers(0, 30)),
        st.sampled_from(["r1", "r2"]),
    ),
    max_size=8,
)


def history_rows(history: Iterable[tuple[str, str, int | None, str]], node: str) -> list[Any]:
    """Rows of a store in which each key's attempts are numbered as they came."""
    count: Counter[str] = Counter()
    rows = []
    for key, outcome, second, run_id in history:
        count[key] += 1
        begun = None if second is None else at(second)
        rows.append({"key": key, "outcome": outcome, "attempt": count[key], "node": node,
                     "started_at": begun, "run_id": run_id})  # fmt: skip
    return rows


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(histories, histories)
def test_any_two_histories(
    tmp_path: Path,
    attempts: Rows,
    mine: list[tuple[str, str, int | None, str]],
    theirs: list[tuple[str, str, int | None, str]],
) -> None:
    shutil.rmtree(tmp_path / "x", ignore_errors=True)
    stores = [Store.create(tmp_path / "x" / name) for name in ("mine", "theirs")]
    sides = [history_rows(mine, "mine"), history_rows(theirs, "theirs")]
    for store, rows in zip(stores, sides, strict=True):
        if rows:
            store.append(attempts(*rows))
    target, source = stores
    before = stored(source)
    target.merge(source)
    found = target.query("from attempts").to_pylist()
    names = ("key", "outcome", "started_at", "run_id", "node")
    plain = [tuple(row[name] for name in names) for row in found]
    wanted = [tuple(row[name] for name in names) for side in sides for row in side]
    assert Counter(plain) == Counter(wanted)
    for key in {row["key"] for row in found}:
        rows = sorted((row for row in found if row["key"] == key), key=lambda row: row["attempt"])
        assert [row["attempt"] for row in rows] == list(range(1, len(rows) + 1))
        for side, node in zip(sides, ("mine", "theirs"), strict=True):
            # In its own order.
            assert [(row["outcome"], row["started_at"]) for row in rows if row["node"] == node] == [
                (row["outcome"], row["started_at"]) for row in side if row["key"] == key
            ]
    once = stored(target)
    assert target.merge(source) == Merged(0, 0, 0, 0)
    assert stored(target) == once
    assert stored(source) == before


def filled(store: Store, attempts: Rows, run_id: str, keys: Iterable[str], second: int) -> Store:
    """A finished run of these keys, with predictions."""
    keys = list(keys)
    wanted = Wanted("t", "C-LR", 5, tuple(keys))
    store.begin_run(Run(run_id, "s", "kind: sweep", (wanted,), "runner", at(second), {}, "m"))
    for key in keys:
        predictions = {"key": [key], "row_ids": [[1, 2]], "classes": [["n", "y"]],
                       "confidences": [[0.5, 0.5, 0.25, 0.75]], "labels": [["n", "y"]]}  # fmt: skip
        store.append(
            attempts({"key": key, "run_id": run_id, "started_at": at(second)}),
            pa.table(predictions),
        )
    store.end_run(run_id, at(second + 1), {"ok": len(keys)})
    return store


def everything(store: Store) -> list[Any]:
    return [
        store.query(f"from {view} order by all").to_pylist()
        for view in ("attempts", "evaluations", "predictions", "runs")
    ]


def test_runs_and_predictions_come_too(store: Store, other: Store, attempts: Rows) -> None:
    filled(store, attempts, "r1", "abc", 10)
    filled(other, attempts, "r2", "bcd", 5)
    done = store.merge(other)
    assert (done.attempts, done.predictions, done.renumbered) == (3, 1, 2)
    assert store.check() == []
    runs = store.query("select run_id, planned_keys from runs order by run_id").to_pylist()
    assert [(run["run_id"], run["planned_keys"]) for run in runs] == [
        ("r1", list("abc")),
        ("r2", list("bcd")),
    ]
    assert len(store.query("from predictions")) == 4
    # A run that came while it was going gets its end by the next merge.
    other.begin_run(Run("r3", "s", "", (), "runner", at(50), {}, "m"))
    store.merge(other)
    other.extend_run("r3", ["d"])
    other.end_run("r3", at(60), {})
    store.merge(other)
    (run,) = store.query("select planned_keys, ended_at from runs where run_id = 'r3'").to_pylist()
    assert run == {"planned_keys": ["d"], "ended_at": at(60)}


def test_the_order_of_merges_does_not_matter(tmp_path: Path, attempts: Rows) -> None:
    parts = [
        filled(Store.create(tmp_path / name), attempts, name, keys, second)
        for name, keys, second in (("r1", "abc", 20), ("r2", "bcd", 10), ("r3", "cda", 30))
    ]
    found = []
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        target = Store.create(tmp_path / f"target{order}")
        for index in order:
            target.merge(parts[index])
        # And of a store that holds merged ones.
        target.merge(Store.open(tmp_path / "r1"))
        found.append(everything(target))
    assert found[0] == found[1] == found[2]
    numbers = {row["run_id"]: row["attempt"] for row in found[0][0] if row["key"] == "c"}
    assert numbers == {"r2": 1, "r1": 2, "r3": 3}


@pytest.mark.parametrize("commits", range(4))
def test_a_killed_merge_is_completed_by_the_next(
    tmp_path: Path, attempts: Rows, commits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [
        filled(Store.create(tmp_path / name), attempts, name, keys, second)
        for name, keys, second in (("r1", "abc", 20), ("r2", "bcd", 10))
    ]
    whole, target = (Store.create(tmp_path / name) for name in ("whole", "target"))
    for part in parts:
        whole.merge(part)
    target.merge(parts[0])
    write, left = Table.write, commits

    def killed(*arguments: Any, **named: Any) -> None:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        write(*arguments, **named)

    monkeypatch.setattr(Table, "write", killed)
    if commits < 3:
        with pytest.raises(KeyboardInterrupt):
            target.merge(parts[1])
    else:
        target.merge(parts[1])
    monkeypatch.undo()
    target.merge(parts[1])
    assert everything(target) == everything(whole)
    assert target.check() == []


def test_rows_appended_during_a_merge_stay(
    store: Store, other: Store, attempts: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(store, attempts, "r1", "ab", 20)
    filled(other, attempts, "r2", "ab", 10)
    write = Table.write

    def beside(table: Table, *arguments: Any, **named: Any) -> None:
        if table.name == "attempts":
            Store.open(store.path).append(attempts({"key": "new", "run_id": "r1"}))
        write(table, *arguments, **named)

    monkeypatch.setattr(Table, "write", beside)
    assert store.merge(other).renumbered == 2
    keys = Counter(row["key"] for row in stored(store))
    assert keys == {"a": 2, "b": 2, "new": 1}


def test_doubled_rows_are_taken_once(store: Store, other: Store, attempts: Rows) -> None:
    row = {"key": "a", "started_at": at(1)}
    other.append(attempts(row, row))
    other.append(attempts(row, {**row, "attempt": 2}))
    assert store.merge(other).attempts == 2
    assert [found["attempt"] for found in stored(store)] == [1, 2]


def test_older_and_later_columns(tmp_path: Path, store: Store, attempts: Rows) -> None:
    old = pa.schema([ATTEMPTS.field(name) for name in ("key", "outcome", "attempt", "score")])
    rows = [{"key": "old", "outcome": "ok", "attempt": 1, "score": 0.5}]
    write_deltalake(tmp_path / "old" / "attempts", pa.Table.from_pylist(rows, schema=old))
    later = Store.create(tmp_path / "later")
    with_column = attempts({"key": "later"}).append_column("joules", pa.array([7.0]))
    write_deltalake(f"{later.path}/attempts", with_column, mode="append", schema_mode="merge")
    store.append(attempts({"key": "now", "node": "n"}))
    for source in (Store.open(tmp_path / "old"), later):
        assert store.merge(source).attempts == 1
        assert store.merge(source).attempts == 0
    found = store.query("select key, node, joules from attempts order by key").to_pylist()
    assert found == [
        {"key": "later", "node": None, "joules": 7.0},
        {"key": "now", "node": "n", "joules": None},
        {"key": "old", "node": None, "joules": None},
    ]
    store.append(attempts({"key": "more"}))
    store.compact()
    assert len(stored(store)) == 4


def test_a_repair_after_a_merge_doubles_nothing(store: Store, other: Store, attempts: Rows) -> None:
    """The files that a merge replaced hold the same attempts under other numbers."""
    filled(store, attempts, "r1", "ab", 20)
    filled(other, attempts, "r2", "ab", 10)
    store.merge(other)
    before = everything(store)
    (log,) = Path(store.path, "attempts").glob("_delta_log")
    max(log.glob("*.json")).write_text("{")
    store.repair()
    rows = [{**row, "attempt": None} for row in everything(store)[0]]
    assert rows == [{**row, "attempt": None} for row in before[0]]
    assert everything(store)[1:] == before[1:]


def test_what_cannot_be_merged(store: Store, other: Store, attempts: Rows) -> None:
    with pytest.raises(InputError, match="into itself"):
        store.merge(Store.open(store.path))
    other.append(attempts({"key": "a"}))
    victim = Path(DeltaTable(f"{other.path}/attempts").file_uris()[0])
    victim.write_bytes(victim.read_bytes()[:100])
    with pytest.raises(InputError, match="--repair") as caught:
        store.merge(other)
    assert str(victim) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert stored(store) == []
