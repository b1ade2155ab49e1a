"""Rows for the tests of the store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from runner.store import ATTEMPTS, Store

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with no rows."""
    return Store.create(tmp_path / "results")


@pytest.fixture
def attempts() -> Callable[..., pa.Table]:
    """Makes rows of attempts from one dict a row, over defaults that make a good row."""

    def make(*rows: dict[str, Any]) -> pa.Table:
        defaults = {
            "run_id": "r1",
            "stage": "cv",
            "system": "C-LR",
            "outcome": "ok",
            "attempt": 1,
            "started_at": START,
        }
        full = [defaults | row for row in rows]
        for row in full:
            if row["outcome"] == "ok":
                row.setdefault("score", 0.5)
        names = [name for name in ATTEMPTS.names if any(name in row for row in full)]
        schema = pa.schema([ATTEMPTS.field(name) for name in names])
        return pa.Table.from_pylist(full, schema=schema)

    return make
