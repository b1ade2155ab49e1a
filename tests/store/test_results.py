"""The store's folder, its appends and its views."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.errors import InputError, RunnerError
from runner.store import ATTEMPTS, OUTCOMES, PREDICTIONS, RUNS, Run, Store, Wanted

Rows = Callable[..., pa.Table]
START = datetime(2026, 1, 2, tzinfo=UTC)


def a_run(run_id: str, *planned: Wanted, started_at: datetime = START) -> Run:
    return Run(run_id, "s", "kind: sweep", planned, "runner sweep s.yaml", started_at, {}, "m")


def test_empty_store_has_every_column_with_its_type(store: Store) -> None:
    for view, schema in [
        ("attempts", ATTEMPTS),
        ("evaluations", ATTEMPTS),
        ("predictions", PREDICTIONS),
        ("runs", RUNS),
    ]:
        found = store.query(f"from {view}")
        assert len(found) == 0
        assert found.schema.names == schema.names
        for field in schema:
            assert types_agree(found.schema.field(field.name).type, field.type), field.name


def types_agree(found: pa.DataType, wanted: pa.DataType) -> bool:
    # The name of a list's items differs between libraries and says nothing.
    if pa.types.is_list(wanted):
        return pa.types.is_list(found) and found.value_type == wanted.value_type
    return found == wanted


def test_rows_come_back_as_they_went_in(store: Store, attempts: Rows) -> None:
    rows = attempts(
        {"key": "a", "fold": 3, "score": 0.1 + 0.2, "log_tail": "é\n\x00'"},
        {"key": "b", "outcome": "error", "error": "no", "imputed": False},
    )
    predictions = pa.table(
        {"key": ["a"], "row_ids": [[4, 7]], "classes": [["n", "y"]],
         "confidences": [[0.25, 0.75, 1.0, 0.0]], "labels": [["y", "n"]],
         "scores": [[1.1, -745.2]], "ids": [["007", "é"]]},
    )  # fmt: skip
    store.append(rows, predictions)
    found = store.query("from attempts order by key").to_pylist()
    assert [{k: v for k, v in row.items() if k in rows.column_names} for row in found] == [
        {**dict.fromkeys(rows.column_names), **row} for row in rows.to_pylist()
    ]
    assert store.query("from predictions").to_pylist() == predictions.to_pylist()


def test_unknown_column_and_unfit_type_are_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="scores"):
        store.append(pa.table({"key": ["a"], "scores": [1.0]}))
    with pytest.raises(ValueError, match=r"fraction|truncated|1\.5"):
        store.append(pa.table({"key": ["a"], "fold": [1.5]}))


def test_predictions_of_a_key_computed_twice_are_there_once(store: Store, attempts: Rows) -> None:
    for _ in range(2):
        rows = pa.table({"key": ["a", "b"], "labels": [["x"], ["y"]]})
        store.append(attempts({"key": "a"}, {"key": "b"}), rows)
    found = store.query("select key, labels from predictions order by key").to_pylist()
    assert found == [{"key": "a", "labels": ["x"]}, {"key": "b", "labels": ["y"]}]


rows_of_few_keys = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from("ab"),
            "outcome": st.sampled_from(OUTCOMES),
            "attempt": st.integers(1, 3),
            "started_at": st.sampled_from([None, START, START + timedelta(seconds=1)]),
            "run_id": st.sampled_from(["r1", "r2"]),
        }
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda row: (row["key"], row["attempt"], row["started_at"], row["run_id"]),
)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows_of_few_keys)
def test_one_evaluation_a_key(tmp_path: Path, attempts: Rows, rows: list[dict[str, Any]]) -> None:
    shutil.rmtree(tmp_path / "results", ignore_errors=True)
    store = Store.create(tmp_path / "results")
    half = len(rows) // 2
    for part in (rows[:half], rows[half:]):
        if part:
            store.append(attempts(*part))

    def rank(row: dict[str, Any]) -> tuple[Any, ...]:
        begun = row["started_at"]
        return (row["outcome"] != "infra", row["attempt"], begun is not None, begun, row["run_id"])

    expected: dict[str, dict[str, Any]] = {}
    for row in rows:
        key = row["key"]
        if key not in expected or later(rank(row), rank(expected[key])):
            expected[key] = row
    names = ", ".join(rows[0])
    found = store.query(f"select {names} from evaluations").to_pylist()
    assert {row["key"]: row for row in found} == expected
    assert len(found) == len(expected)


def later(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    for first, second in zip(one, other, strict=True):
        if first != second:
            return bool(first > second)
    return False


def test_a_run_is_one_row_from_start_to_end(store: Store) -> None:
    groups = (Wanted("t", "C-LR", 5, ("a", "b")), Wanted("t", "C-BDT", 5, ("c",)))
    store.begin_run(a_run("r1", *groups))
    store.begin_run(a_run("r2", started_at=START + timedelta(days=1)))
    columns = "select run_id, planned_keys, plan, started_at, ended_at, outcomes"
    first, second = store.query(f"{columns} from runs order by run_id").to_pylist()
    assert first["planned_keys"] == ["a", "b", "c"]
    assert first["ended_at"] is None
    assert second["planned_keys"] == []

    store.extend_run("r1", ["d"])
    store.end_run("r1", START + timedelta(hours=1), {"ok": 4})
    last = store.query(f"{columns} from runs where run_id = 'r1'").to_pylist()
    assert last == [
        {
            **first,
            "planned_keys": ["a", "b", "c", "d"],
            "ended_at": START + timedelta(hours=1),
            "outcomes": '{"ok": 4}',
        }
    ]


def test_compaction_changes_files_and_no_answer(store: Store, attempts: Rows) -> None:
    for index in range(7):
        predictions = pa.table({"key": [f"k{index}"], "labels": [[str(index)]]})
        store.append(attempts({"key": f"k{index}", "fold": index % 3}), predictions)
    questions = [
        "from attempts order by key",
        "from predictions order by key",
        "select fold, count(*) from evaluations group by 1 order by 1",
    ]
    before = [store.query(sql) for sql in questions]
    store.compact()
    assert len(DeltaTable(f"{store.path}/attempts").file_uris()) == 1
    assert [store.query(sql) for sql in questions] == before
    # Merged files stay for a day: a reader may be at them.
    assert len(list(Path(store.path, "attempts").glob("*.parquet"))) == 8


def test_compacts_by_itself(store: Store, attempts: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.store.results.COMMITS_BETWEEN_COMPACTIONS", 3)
    for index in range(4):
        store.append(attempts({"key": str(index)}))
    assert len(DeltaTable(f"{store.path}/attempts").file_uris()) == 2
    assert len(store.query("from attempts")) == 4


def test_older_store_is_read_with_nulls_and_appended_to(tmp_path: Path, attempts: Rows) -> None:
    old = pa.schema([ATTEMPTS.field(name) for name in ("key", "outcome", "attempt", "score")])
    folder = tmp_path / "old"
    rows = [{"key": "a", "outcome": "ok", "attempt": 1, "score": 0.5}]
    write_deltalake(folder / "attempts", pa.Table.from_pylist(rows, schema=old))
    store = Store.open(folder)
    found = store.query("from evaluations")
    assert found.schema.field("fit_seconds").type == pa.float64()
    assert found.to_pylist() == [{**dict.fromkeys(ATTEMPTS.names), **rows[0]}]
    assert len(store.query("from runs")) == 0

    store = Store.create(folder)
    store.append(attempts({"key": "b", "fit_seconds": 2.0}))
    found = store.query("select key, fit_seconds from evaluations order by key")
    assert found.to_pylist() == [
        {"key": "a", "fit_seconds": None},
        {"key": "b", "fit_seconds": 2.0},
    ]


def test_columns_of_a_later_version_are_kept(store: Store, attempts: Rows) -> None:
    later = attempts({"key": "a"}).append_column("joules", pa.array([7.0]))
    write_deltalake(f"{store.path}/attempts", later, mode="append", schema_mode="merge")
    store.append(attempts({"key": "b"}))
    found = store.query("select key, joules from evaluations order by key").to_pylist()
    assert found == [{"key": "a", "joules": 7.0}, {"key": "b", "joules": None}]


def foreign_file(folder: Path) -> None:
    folder.mkdir()
    (folder / "thesis.tex").touch()


def foreign_table(folder: Path) -> None:
    write_deltalake(folder / "attempts", pa.table({"x": [1]}))


def foreign_type(folder: Path) -> None:
    write_deltalake(folder / "attempts", pa.table({"key": [1], "outcome": ["ok"], "attempt": [1]}))


def foreign_namesake(folder: Path) -> None:
    (folder / "attempts").mkdir(parents=True)
    (folder / "attempts" / "climbs.csv").touch()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (foreign_file, "thesis.tex"),
        (foreign_table, "no column key, outcome, attempt"),
        (foreign_type, "its column key is int64"),
        (foreign_namesake, "something else"),
        (Path.touch, "this is a file"),
    ],
)
def test_foreign_folder_is_refused(
    tmp_path: Path, make: Callable[[Path], None], words: str
) -> None:
    folder = tmp_path / "folder"
    make(folder)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=words):
        Store.create(folder)
    with pytest.raises(InputError):
        Store.open(folder)
    assert sorted(tmp_path.rglob("*")) == before


def test_open_wants_a_store_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        Store.open(tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no results"):
        Store.open(tmp_path)
    with pytest.raises(InputError, match=r"can't hold '\['"):
        Store.create(tmp_path / "a[1]")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="this is a file, which holds no folders") as caught:
        Store.create(tmp_path / "file" / "results")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["s3://bucket/results", Path("s3://bucket/results")])
def test_an_address_is_not_taken_for_a_folder(address: str | Path) -> None:
    for use in (Store.create, Store.open):
        with pytest.raises(InputError, match="a folder of this machine"):
            use(address)


def test_folder_made_by_hand_or_with_odd_letters_is_fine(tmp_path: Path, attempts: Rows) -> None:
    folder = tmp_path / "my 'best' résumé #1"
    folder.mkdir()
    (folder / ".gitkeep").touch()
    Store.create(folder).append(attempts({"key": "a"}))
    Store.create(folder)
    assert len(Store.open(folder).query("from evaluations")) == 1


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("selec 1", "syntax error"),
        ("select foldd from evaluations", "foldd"),
        ("select 1; select 2", "one SELECT"),
        ("", "one SELECT"),
        ("copy (select 1) to '{inside}'", "only SELECT"),
        ("explain analyze copy (select 1) to '{inside}'", "only SELECT"),
        (
            "copy (pivot (select system, 1 v from attempts) on system using count(*))"
            " to '{inside}' (format csv, use_tmp_file false)",
            "only SELECT",
        ),
        ("set threads = 1", "only SELECT"),
        ("create table x as select 1", "only SELECT"),
        ("from read_text('{outside}')", "Permission"),
        ("from '{outside}'", "Permission|not exist"),
        ("from rows", "rows does not exist"),
    ],
)
def test_wrong_or_reaching_sql_is_refused_in_one_line(
    store: Store, attempts: Rows, tmp_path: Path, sql: str, words: str
) -> None:
    rows = attempts({"key": "a"})
    store.append(rows)
    outside = tmp_path / "secret.csv"
    outside.write_text("a,b\n1,2\n")
    inside = DeltaTable(f"{store.path}/attempts").file_uris()[0]
    with pytest.raises(InputError, match=words) as caught:
        store.query(sql.format(inside=inside, outside=outside))
    assert "\n" not in str(caught.value)
    assert store.query("select key from attempts").to_pylist() == [{"key": "a"}]


def test_sums_of_integers_are_integers(store: Store, attempts: Rows) -> None:
    store.append(attempts({"key": "a", "fold": 1}, {"key": "b", "fold": 2}))
    found = store.query("select sum(fold) as folds, avg(score) as mean from attempts")
    assert found.to_pylist() == [{"folds": 3, "mean": 0.5}]
    assert found.schema.field("folds").type == pa.int64()


def test_columns_of_one_name_are_all_there(store: Store, attempts: Rows) -> None:
    store.append(attempts({"key": "a", "fold": 1}))
    found = store.query("select key, fold as key, system as key, outcome as key_1 from attempts")
    assert found.to_pylist() == [{"key": "a", "key_1": 1, "key_2": "C-LR", "key_1_1": "ok"}]


def test_check_is_silent_on_a_good_store(store: Store, attempts: Rows) -> None:
    store.begin_run(a_run("r1", Wanted("t", "C-LR", 5, ("a", "b"))))
    store.append(
        attempts({"key": "a"}, {"key": "b", "outcome": "timeout"}),
        pa.table({"key": ["a"], "row_ids": [[1]], "classes": [["n", "y"]],
                  "confidences": [[0.5, 0.5]], "labels": [["n"]]}),
    )  # fmt: skip
    store.end_run("r1", START, {"ok": 1, "timeout": 1})
    assert store.check() == []


def test_check_finds_what_is_wrong(store: Store, attempts: Rows) -> None:
    store.begin_run(a_run("r1", Wanted("t", "C-LR", 5, ("a", "lost"))))
    store.begin_run(a_run("killed", Wanted("t", "C-LR", 5, ("never",))))
    store.end_run("r1", START, {"ok": 2})
    store.append(
        attempts(
            {"key": "a"},
            {"key": "a"},
            {"key": None, "run_id": "r1"},
            {"key": "odd", "outcome": "fine"},
            {"key": "unscored", "score": None},
            {"key": "scored", "outcome": "crash", "score": 0.5},
            {"key": "stray", "run_id": "r0"},
        ),
        pa.table({"key": ["a"], "row_ids": [[1]], "classes": [["n", "y"]], "confidences": [[1.0]]}),
    )
    found = {(problem.example, problem.rows): problem.text for problem in store.check()}
    assert found == {
        ("r1", 1): "attempts without a key",
        ("a", 1): found["a", 1],
        ("odd", 1): "attempts of an unknown outcome",
        ("unscored", 1): "attempts that are ok but have neither score nor predictions",
        ("scored", 1): "attempts with a score that are not ok",
        ("r0", 1): "attempts of a run that the table of runs doesn't have",
        ("lost", 1): "planned keys of finished runs without an attempt",
    }
    texts = [problem.text for problem in store.check()]
    assert "attempts doubled: same key, run and number" in texts
    assert "predictions whose confidences are not rows times classes" in texts


@pytest.mark.parametrize("harm", ["truncate", "delete"])
def test_check_names_a_file_that_cannot_be_read(store: Store, attempts: Rows, harm: str) -> None:
    store.begin_run(a_run("r1"))
    store.append(attempts({"key": "a"}))
    store.append(attempts({"key": "b"}))
    victim = Path(DeltaTable(f"{store.path}/attempts").file_uris()[0])
    if harm == "delete":
        victim.unlink()
    else:
        victim.write_bytes(victim.read_bytes()[:100])
    (problem,) = store.check()
    assert problem.text.startswith("unreadable file")
    assert problem.example == str(victim)
    with pytest.raises(InputError, match="results check") as caught:
        store.query("from attempts")
    assert "\n" not in str(caught.value)


def test_a_store_removed_meanwhile_is_not_begun_anew(store: Store, attempts: Rows) -> None:
    shutil.rmtree(store.path)
    with pytest.raises(RunnerError, match="gone"):
        store.append(attempts({"key": "a"}))
    assert not Path(store.path).exists()


def test_a_read_only_folder_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may write to whatever isn't mounted read-only: what the kernel says is made up.
    monkeypatch.setattr(os, "access", lambda path, mode: "_delta_log" not in str(path))
    with pytest.raises(InputError, match="read-only"):
        Store.create(store.path)
    assert Store.open(store.path).query("from attempts").num_rows == 0


def test_predictions_are_found_by_their_keys(store: Store, attempts: Rows) -> None:
    for commit in range(3):
        keys = [f"{commit}.{number}" for number in range(40)] + ["twice"]
        rows = {"key": keys, "row_ids": [[commit, 7]] * 41, "confidences": [[0.5, commit]] * 41}
        store.append(attempts(*({"key": key} for key in keys)), pa.table(rows))
    asked = ["2.39", "0.0", "twice", "1.20", "absent"]
    batches = list(store.predictions(asked))
    found = pa.Table.from_batches(batches).to_pylist()
    by_key = {row["key"]: row["row_ids"] for row in found}
    assert len(found) == len(by_key)
    assert by_key.pop("twice") in ([0, 7], [1, 7], [2, 7])
    assert by_key == {"2.39": [2, 7], "0.0": [0, 7], "1.20": [1, 7]}
    assert not list(store.predictions(["absent"]))


def test_find_waits_for_a_store_but_not_in_a_foreign_folder(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    assert Store.find(folder) is None
    folder.mkdir()
    assert Store.find(folder) is None
    Store.create(folder)
    assert Store.find(folder) is not None
    (tmp_path / "mine.txt").touch()
    for path in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(InputError, match=r"something else|this is a file"):
            Store.find(path)
