"""What the page holds, read back from its file without a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.report.mlbench import write_published
from runner.report.page import Content, of_run, render
from runner.report.page.columns import encode
from runner.report.page.details import LOG_CHARACTERS, details
from runner.report.rows import load
from runner.report.summary import tabulate
from runner.store import Store

from .conftest import evaluation, plan, synthetic_rows

Record = Callable[..., Store]
EMPTY = Content("study", (), (), (), (), ())


def data(page: str) -> Any:
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(found)


def decoded(column: dict[str, Any], rows: int) -> list[Any]:
    """A column read as its description says, by NumPy."""
    if "c" in column:
        return [column["c"]] * rows
    if "d" in column:
        return [None if place < 0 else column["d"][place] for place in column["v"]]
    if "f" in column:
        floats = np.frombuffer(base64.b64decode(column["f"]), "<f8").tolist()
        return [None if math.isnan(value) else value for value in floats]
    return list(column["v"])


@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(allow_nan=False),
            st.none() | st.integers(-(2**31), 2**31 - 1),
            st.none() | st.text(),
            st.none() | st.booleans(),
        ),
        max_size=20,
    )
)
def test_columns_are_read_back(rows: list[tuple[Any, ...]]) -> None:
    names = ("number", "count", "text", "flag")
    types = (pa.float64(), pa.int32(), pa.string(), pa.bool_())
    texts = [[row[place] for row in rows] for place in range(4)]
    table = pa.table({n: pa.array(v, t) for n, v, t in zip(names, texts, types, strict=True)})
    found = json.loads(json.dumps(encode(table)))
    assert [column["type"] for column in found["columns"]] == list(names)
    for column, values in zip(found["columns"], texts, strict=True):
        assert decoded(column, found["rows"]) == values


def test_a_column_of_not_a_number_is_valid_json() -> None:
    found = encode(pa.table({"x": [math.nan, math.nan]}))
    assert json.loads(json.dumps(found, allow_nan=False))["columns"][0]["c"] is None


@given(st.text())
def test_no_text_ends_the_data(text: str) -> None:
    page = render(Content(text, ((text, text),), (text,), (text,), (), ()))
    assert page.count("</script>") == 2
    assert data(page)["notes"] == [text]


def test_only_the_pages_own_script_may_run() -> None:
    page = render(EMPTY)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.S)
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)"', page)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_a_large_run_keeps_what_failed(record: Record) -> None:
    rows = synthetic_rows()
    store = record(rows, plan())
    loaded = load(store)
    configurations = tabulate(loaded).configurations
    failed = {row["key"] for row in rows if row["outcome"] != "ok"}
    everything = details(store, loaded, configurations)
    assert set(everything.table["key"].to_pylist()) == {row["key"] for row in rows}
    assert everything.left_out == ()
    selected = configurations.filter(configurations["selected"]).to_pylist()
    few = details(store, loaded, configurations, most=len(rows) - 1)
    kept = set(few.table["key"].to_pylist())
    assert failed < kept
    names = ("task", "system", "configuration_id")
    chosen = {tuple(row[name] for name in names) for row in selected}
    own = {row["key"] for row in rows if tuple(row[name] for name in names) in chosen}
    assert kept == failed | own
    assert f"Of {len(rows):,} evaluations this page has {len(kept):,}" in few.left_out[0]
    least = details(store, loaded, configurations, most=3)
    assert set(least.table["key"].to_pylist()) < failed
    assert len(least.table) == 3


def test_long_logs_show_their_end(record: Record) -> None:
    row = evaluation("wdbc", "C-BDT", 0, 0) | {"outcome": "crash", "log_tail": "x" * 50_000 + "end"}
    store = record([row], plan())
    loaded = load(store)
    table = details(store, loaded, tabulate(loaded).configurations).table
    (log,) = table["log_tail"].to_pylist()
    assert len(log) == LOG_CHARACTERS
    assert log.endswith("xend")


def test_an_empty_run_has_a_page(record: Record) -> None:
    store = record([], plan(), ended=False)
    loaded = load(store)
    tables = tabulate(loaded)
    content = of_run(store, loaded, tables.summary, tables.configurations, ["nothing yet"], EMPTY)
    found = data(render(content))
    assert found["charts"] == []
    assert dict(found["facts"])["ended"] == "not yet"
    assert {table["id"]: table["rows"] for table in found["tables"]} == {
        "summary": 4,
        "configurations": 0,
        "evaluations": 0,
    }


@pytest.mark.parametrize("table", ["table7", "table9"])
def test_the_papers_page_has_its_tables(tmp_path: Path, table: str) -> None:
    paper = write_published("mlbench", tmp_path)
    found = data((tmp_path / "index.html").read_text(encoding="utf-8"))
    (shown,) = (one for one in found["tables"] if one["id"] == table)
    expected = paper.tables[table]
    assert [column["name"] for column in shown["columns"]] == expected.column_names
    for column in shown["columns"]:
        assert decoded(column, shown["rows"]) == expected[column["name"]].to_pylist()
    assert {chart["id"] for chart in found["charts"]} >= {f"figure{n}" for n in range(1, 7)}
