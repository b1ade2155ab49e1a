"""docs/results.md and the schemas say the same, column by column."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pytest

from runner.report import CONFIGURATIONS, SUMMARY
from runner.sandbox import Outcome
from runner.store import ATTEMPTS, OUTCOMES, PREDICTIONS, RUNS

PAGE = Path(__file__).parents[2] / "docs" / "results.md"
TYPES = {
    "string": pa.string(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "list<int32>": pa.list_(pa.int32()),
    "list<string>": pa.list_(pa.string()),
    "list<float>": pa.list_(pa.float32()),
    "list<double>": pa.list_(pa.float64()),
}


@pytest.mark.parametrize(
    ("heading", "schema"),
    [
        ("attempts", ATTEMPTS),
        ("predictions", PREDICTIONS),
        ("runs", RUNS),
        ("summary.csv", SUMMARY),
        ("configurations.csv", CONFIGURATIONS),
    ],
)
def test_every_column_is_defined(heading: str, schema: pa.Schema) -> None:
    section = re.split(rf"^## {re.escape(heading)}$", PAGE.read_text(), flags=re.MULTILINE)[1]
    section = re.split(r"^#", section, flags=re.MULTILINE)[0]
    rows = re.findall(r"^\| (\S+) \| (\S+) \| (.+) \|$", section, flags=re.MULTILINE)
    documented = [(name, kind) for name, kind, _ in rows if name != "column"]
    assert [name for name, _ in documented] == schema.names
    assert [TYPES[kind] for _, kind in documented] == schema.types
    assert all(len(meaning) > 3 for _, _, meaning in rows)


def test_outcomes_are_the_sandboxes() -> None:
    assert get_args(Outcome) == OUTCOMES
    assert all(f"`{outcome}`" in PAGE.read_text() for outcome in OUTCOMES)
