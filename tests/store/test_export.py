"""What is exported equals what a query answers, read by other libraries."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from runner.errors import InputError, RunnerError
from runner.store import ATTEMPTS, Run, Store, Wanted

Rows = Callable[..., pa.Table]
VIEWS = ("evaluations", "attempts", "predictions", "runs")
START = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def filled(store: Store, attempts: Rows) -> Store:
    wanted = Wanted("t", "C-LR", 5, ("a", "b"))
    store.begin_run(Run("r1", "s", "kind: sweep\n", (wanted,), "runner", START, {}, "m"))
    store.append(
        attempts(
            {"key": "a", "score": 0.1 + 0.2, "log_tail": 'é,"\n', "error": ""},
            {"key": "b", "outcome": "timeout", "fold": 3},
        ),
        pa.table({"key": ["a", "b"], "row_ids": [[4, 7], []], "classes": [['n"é', "y"], None],
                  "confidences": [[0.1, 0.9, 1.0, 1e-9], None], "labels": [["y", 'n"é'], []]}),
    )  # fmt: skip
    store.append(attempts({"key": "b", "attempt": 2, "imputed": False}))
    store.end_run("r1", START, {"ok": 2})
    return store


@pytest.mark.parametrize("view", VIEWS)
def test_parquet_is_what_a_query_answers(filled: Store, view: str, tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    asked = filled.query(f"from {view} order by all")
    assert filled.export(view, file, "parquet") == len(asked)
    found = pq.read_table(file).sort_by([(asked.column_names[0], "ascending")])
    assert found.column_names == asked.column_names
    if view != "attempts":
        assert found.to_pylist() == asked.to_pylist()
    else:
        assert sorted(map(str, found.to_pylist())) == sorted(map(str, asked.to_pylist()))
        assert found.schema.field("started_at").type == ATTEMPTS.field("started_at").type


@pytest.mark.parametrize("view", VIEWS)
def test_csv_has_every_value(filled: Store, view: str, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    asked = filled.query(f"from {view}")
    assert filled.export(view, file, "csv") == len(asked)
    with file.open(newline="") as text:
        found = {row["key" if "key" in row else "run_id"]: row for row in csv.DictReader(text)}
    for row in asked.to_pylist():
        other = found[row.get("key") or row["run_id"]]
        if view == "attempts" and row["key"] == "b":
            continue
        assert list(other) == list(row)
        for name, value in row.items():
            if value is None:
                assert other[name] == ""
            elif isinstance(value, list):
                assert as_stored(json.loads(other[name])) == value
            elif isinstance(value, float):
                assert float(other[name]) == value
            elif isinstance(value, datetime):
                assert datetime.fromisoformat(other[name]) == value
            elif isinstance(value, str):
                assert other[name] == value
            else:
                assert other[name] == str(value).lower()


def as_stored(values: list[Any]) -> list[Any]:
    """Confidences are float32, whose shortest text is another float64."""
    return [float(np.float32(v)) if isinstance(v, float) else v for v in values]


def test_a_file_is_replaced_only_by_a_whole_one(filled: Store, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("old")
    victim = Path(DeltaTable(f"{filled.path}/attempts").file_uris()[0])
    content = victim.read_bytes()
    victim.write_bytes(
        content[:8] + b"\xff" * (len(content) // 3) + content[8 + len(content) // 3 :]
    )
    with pytest.raises(RunnerError, match="--repair"):
        filled.export("attempts", file, "csv")
    assert file.read_text() == "old"
    victim.write_bytes(content)
    filled.export("attempts", file, "csv")
    assert file.read_text().startswith("key,run_id,")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["x.csv"]


def test_places_that_cannot_be_written(filled: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        filled.export("runs", tmp_path, "csv")
    with pytest.raises(InputError, match="no folder"):
        filled.export("runs", tmp_path / "no" / "x.csv", "csv")


def test_of_an_empty_store_the_columns_are_there(store: Store, tmp_path: Path) -> None:
    assert store.export("evaluations", tmp_path / "x.csv", "csv") == 0
    assert (tmp_path / "x.csv").read_text().strip().split(",") == ATTEMPTS.names
    assert store.export("evaluations", tmp_path / "x.parquet", "parquet") == 0
    assert pq.read_table(tmp_path / "x.parquet").column_names == ATTEMPTS.names
