"""Real damage to each kind of file: told in one line, set aside, and nothing readable is lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from runner.errors import InputError
from runner.store import Run, Store, Wanted
from runner.store.damage import find_damage

Rows = Callable[..., pa.Table]
TABLES = ("attempts", "predictions", "runs")
START = datetime(2026, 1, 2, tzinfo=UTC)
KEYS = [f"k{index}" for index in range(4)]


@pytest.fixture
def filled(store: Store, attempts: Rows) -> Store:
    """Four rows: two in a merged file, with those it replaced still there, and two beside it."""
    wanted = Wanted("t", "C-LR", 5, tuple(KEYS))
    store.begin_run(Run("r1", "s", "kind: sweep", (wanted,), "runner sweep s", START, {}, "m"))
    for key in KEYS[:2]:
        append(store, attempts, key)
    store.compact()
    for key in KEYS[2:]:
        append(store, attempts, key)
    store._append_run(run_id="r1", ended_at=START + timedelta(hours=1), outcomes='{"ok": 4}')
    return store


def append(store: Store, attempts: Rows, key: str) -> None:
    predictions = {"key": [key], "row_ids": [[1]], "classes": [["n", "y"]],
                   "confidences": [[0.5, 0.5]], "labels": [["n"]]}  # fmt: skip
    store.append(attempts({"key": key, "log_tail": key * 50}), pa.table(predictions))


def data_files(store: Store, table: str) -> list[Path]:
    """The largest first."""
    uris = DeltaTable(f"{store.path}/{table}").file_uris()
    return sorted(map(Path, uris), key=lambda file: -file.stat().st_size)


def last_commit(store: Store, table: str) -> Path:
    return max(Path(store.path, table, "_delta_log").glob("*.json"))


def checkpoint(store: Store, table: str) -> Path:
    return max(Path(store.path, table, "_delta_log").glob("*.checkpoint.parquet"))


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def garble(file: Path) -> None:
    file.write_bytes(os.urandom(file.stat().st_size))


def garble_pages(file: Path) -> None:
    """Leaves header and footer, so that only reading the rows tells."""
    content = bytearray(file.read_bytes())
    content[8 : len(content) // 3] = b"\xff" * (len(content) // 3 - 8)
    file.write_bytes(bytes(content))


def questions(store: Store) -> list[Any]:
    return [
        store.query("from attempts order by key").to_pylist(),
        store.query("from evaluations order by key").to_pylist(),
        store.query("from predictions order by key").to_pylist(),
        store.query("from runs order by run_id").to_pylist(),
    ]


@pytest.mark.parametrize(
    ("table", "harm"),
    [
        *((table, truncate) for table in TABLES),
        *(("attempts", harm) for harm in (empty, garble, garble_pages, Path.unlink)),
    ],
)
def test_a_merged_file_is_made_up_for_by_those_it_replaced(
    filled: Store, table: str, harm: Callable[[Path], None]
) -> None:
    filled.compact()
    before = questions(filled)
    (merged,) = data_files(filled, table)
    harm(merged)
    check_that_it_is_told(filled, table, str(merged))
    (repaired,) = Store.inspect(filled.path).repair()
    assert (repaired.table, repaired.lost, repaired.exact) == (table, 0, True)
    assert questions(Store.open(filled.path)) == before
    assert filled.check() == []


@pytest.mark.parametrize("harm", [truncate, empty, garble, garble_pages, Path.unlink])
def test_rows_that_are_nowhere_else_are_lost_and_counted(
    filled: Store, attempts: Rows, harm: Callable[[Path], None]
) -> None:
    before = questions(filled)[0]
    victim = next(f for f in data_files(filled, "attempts") if "k3" in keys_in(f))
    readable = {file.name for file in Path(filled.path, "attempts").iterdir()} - {victim.name}
    harm(victim)
    (repaired,) = filled.repair()
    assert (repaired.lost, repaired.exact) == (1, True)
    if harm is Path.unlink:
        assert repaired.missing == (str(victim),)
    else:
        assert repaired.aside == (f"{filled.path}/damaged/attempts/{victim.name}",)
    assert {file.name for file in Path(filled.path, "attempts").iterdir()} == readable
    store = Store.create(filled.path)
    assert questions(store)[0] == [row for row in before if row["key"] != "k3"]
    # The study is resumed: the lost key is wanted and gets computed.
    assert set(KEYS) - set(store.served(KEYS, seconds=1, memory_mib=1).served) == {"k3"}
    (problem,) = store.check()
    assert (problem.text, problem.example) == (
        "planned keys of finished runs without an attempt",
        "k3",
    )
    append(store, attempts, "k3")
    assert store.check() == []
    assert store.repair() == []


def keys_in(file: Path) -> list[str]:
    return list(pq.read_table(file, columns=["key"])["key"].to_pylist())


def remove(folder: Path) -> None:
    shutil.rmtree(folder)


HARMS = {
    "a truncated commit": lambda store, table: truncate(last_commit(store, table)),
    "an empty commit": lambda store, table: empty(last_commit(store, table)),
    "a garbled commit": lambda store, table: garble(last_commit(store, table)),
    "a truncated checkpoint": lambda store, table: truncate(checkpoint(store, table)),
    "a garbled checkpoint": lambda store, table: garble(checkpoint(store, table)),
    "a lost checkpoint": lambda store, table: checkpoint(store, table).unlink(),
    "no log": lambda store, table: remove(last_commit(store, table).parent),
}


@pytest.mark.parametrize(
    ("table", "harm"),
    [
        *(("attempts", harm) for harm in HARMS),
        ("predictions", "a truncated commit"),
        ("runs", "a truncated commit"),
    ],
)
def test_a_damaged_log_is_made_anew_without_a_loss(filled: Store, table: str, harm: str) -> None:
    before = questions(filled)
    data = {file.name for file in Path(filled.path, table).glob("*.parquet")}
    HARMS[harm](filled, table)
    check_that_it_is_told(filled, table, "log")
    (repaired,) = Store.inspect(filled.path).repair()
    assert (repaired.table, repaired.lost) == (table, 0)
    assert {file.name for file in Path(filled.path, table).glob("*.parquet")} == data
    store = Store.create(filled.path)
    assert questions(store) == before
    assert store.check() == []
    store.compact()
    assert questions(store) == before
    assert not list(Path(store.path).glob(".attempts*"))


def check_that_it_is_told(store: Store, table: str, named: str) -> None:
    problems = Store.inspect(store.path).check()
    assert any(named in problem.example and "unreadable" in problem.text for problem in problems)
    uses: list[Callable[[], object]] = [
        lambda: Store.open(store.path).query(f"from {table}"),
        lambda: Store.create(store.path).query(f"from {table}"),
    ]
    for use in uses:
        with pytest.raises(InputError, match="results check --repair") as caught:
            use()
        assert "\n" not in str(caught.value)
        assert store.path in str(caught.value)


def test_damage_of_all_kinds_at_once(filled: Store) -> None:
    before = questions(filled)
    for table in TABLES:
        truncate(last_commit(filled, table))
        truncate(checkpoint(filled, table))
    victim = next(
        file for file in Path(filled.path, "attempts").glob("*.parquet") if keys_in(file) == ["k3"]
    )
    truncate(victim)
    repaired = filled.repair()
    assert [found.table for found in repaired] == list(TABLES)
    assert questions(filled)[1:] == [
        [row for row in before[1] if row["key"] != "k3"],
        *before[2:],
    ]


def test_lost_runs_are_told_from_their_rows(filled: Store) -> None:
    for file in Path(filled.path, "runs").glob("*.parquet"):
        truncate(file)
    (repaired,) = filled.repair()
    assert repaired.table == "runs"
    (run,) = filled.query("from runs").to_pylist()
    begun = filled.query("select min(started_at) as started_at from attempts").to_pylist()
    assert (run["run_id"], run["planned_keys"]) == ("r1", [])
    assert [{"started_at": run["started_at"]}] == begun
    assert filled.check() == []


@pytest.mark.parametrize("step", ["found", "moved", "rebuilt"])
def test_a_repair_that_was_killed_is_done_again(
    filled: Store, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = questions(filled)
    if step == "rebuilt":
        truncate(last_commit(filled, "attempts"))
        monkeypatch.setattr(Path, "rename", killed)
    else:
        filled.compact()
        before = questions(filled)
        truncate(data_files(filled, "attempts")[0])
        if step == "found":
            monkeypatch.setattr("runner.store.repair._set_aside", killed)
        else:
            monkeypatch.setattr(DeltaTable, "repair", killed)
    with pytest.raises(KeyboardInterrupt):
        filled.repair()
    monkeypatch.undo()
    assert list(find_damage(filled._attempts))
    filled.repair()
    assert questions(filled) == before
    assert filled.check() == []


def killed(*arguments: object, **named: object) -> None:
    raise KeyboardInterrupt


def test_a_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write_deltalake(folder / "attempts", pa.table({"x": [1]}))
    with pytest.raises(InputError, match="not a results table"):
        Store.inspect(folder)
    remove(folder / "attempts" / "_delta_log")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="no part of a table of results"):
        Store.inspect(folder).repair()
    assert [path for path in sorted(tmp_path.rglob("*")) if path.name[0] != "."] == before


def test_columns_of_a_later_version_outlive_a_repair(filled: Store, attempts: Rows) -> None:
    later = attempts({"key": "z"}).append_column("joules", pa.array([7.0]))
    write_deltalake(f"{filled.path}/attempts", later, mode="append", schema_mode="merge")
    truncate(last_commit(filled, "attempts"))
    filled.repair()
    found = filled.query("select joules from attempts where key = 'z'").to_pylist()
    assert found == [{"joules": 7.0}]
    names = [field.name for field in DeltaTable(f"{filled.path}/attempts").schema().fields]
    assert "joules" in names
