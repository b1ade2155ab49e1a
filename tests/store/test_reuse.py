"""Which rows serve, against the rule written out in Python for every combination."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from runner.store import OUTCOMES, Stale, Store, key

Rows = Callable[..., pa.Table]
SECONDS, MEMORY = 10.0, 1000
NOW, BEFORE = {"lightgbm": "4.7"}, {"lightgbm": "4.6"}


def every_row() -> list[dict[str, Any]]:
    measures = itertools.product(
        OUTCOMES, [None, 5.0, 10.0, 15.0], [None, 500.0, 1500.0], [5.0, 10.0, 20.0],
        [500, 1000, 2000],
    )  # fmt: skip
    return [
        {
            "key": key({"row": index}, NOW),
            "outcome": outcome,
            "score": index / 1000 if outcome == "ok" else None,
            "wall_seconds": wall,
            "peak_mib": peak,
            "limit_seconds": seconds,
            "memory_mib": memory,
        }
        for index, (outcome, wall, peak, seconds, memory) in enumerate(measures)
    ]


def serves(row: dict[str, Any]) -> bool:
    """The rule of the design."""
    if row["outcome"] == "ok":
        in_time = row["limit_seconds"] <= SECONDS
        in_time |= row["wall_seconds"] is not None and row["wall_seconds"] <= SECONDS
        in_memory = row["memory_mib"] <= MEMORY
        in_memory |= row["peak_mib"] is not None and row["peak_mib"] <= MEMORY
        return bool(in_time and in_memory)
    if row["outcome"] == "timeout":
        return bool(row["limit_seconds"] >= SECONDS)
    if row["outcome"] == "memory":
        return bool(row["memory_mib"] >= MEMORY)
    return row["outcome"] in ("crash", "error")


@pytest.mark.parametrize("rerun", [(), ("ok",), ("error", "timeout", "infra")])
def test_every_combination(store: Store, attempts: Rows, rerun: tuple[str, ...]) -> None:
    rows = every_row()
    store.append(attempts(*rows))
    planned = [row["key"] for row in rows] + [key({"row": -1}, NOW)]
    reuse = store.served(planned, seconds=SECONDS, memory_mib=MEMORY, rerun=rerun)
    expected = {
        row["key"]: row["key"] for row in rows if serves(row) and row["outcome"] not in rerun
    }
    assert reuse.served == expected
    assert reuse.outcomes == {row["key"]: row["outcome"] for row in rows if row["key"] in expected}
    assert reuse.scores == {row["key"]: row["score"] for row in rows if row["key"] in expected}
    assert reuse.attempts == {row["key"]: 2 for row in rows}
    assert reuse.stale == ()


CPU = {"outcome": "timeout", "reason": "cpu"}
WALL = {"outcome": "timeout", "reason": "wall"}
FORKS = {"outcome": "crash", "reason": "processes"}
FILES = {"outcome": "crash", "reason": "file-size"}


@pytest.mark.parametrize(
    ("row", "asked", "expected"),
    [
        # what kept within the limit asked for, or had no more
        ({"cpu_seconds": 5.0}, {"cpu_seconds": 6.0}, True),
        ({"cpu_seconds": 5.0}, {"cpu_seconds": 4.0}, False),
        ({"cpu_seconds": 5.0}, {}, True),
        ({"cpu_seconds": 5.0, "limit_cpu_seconds": 4.9}, {"cpu_seconds": 4.9}, True),
        ({}, {"cpu_seconds": 4.0}, False),
        # nobody counted them: the limits tell
        ({"limit_processes": 64}, {"processes": 64}, True),
        ({"limit_processes": 64}, {"processes": 63}, False),
        ({"limit_processes": 64}, {}, True),
        ({}, {"processes": 64}, False),
        ({"limit_file_bytes": 10}, {"file_bytes": 10}, True),
        ({"limit_file_bytes": 11}, {"file_bytes": 10}, False),
        # what a limit ended is ended by smaller ones too
        ({**CPU, "limit_cpu_seconds": 5.0}, {"cpu_seconds": 4.0}, True),
        ({**CPU, "limit_cpu_seconds": 5.0}, {"cpu_seconds": 6.0}, False),
        ({**CPU, "limit_cpu_seconds": 5.0}, {}, False),
        ({**WALL, "limit_seconds": 10.0}, {"cpu_seconds": 1.0}, True),
        ({**FORKS, "limit_processes": 64}, {"processes": 8}, True),
        ({**FORKS, "limit_processes": 64}, {"processes": 65}, False),
        ({**FORKS, "limit_processes": 64}, {}, False),
        ({**FILES, "limit_file_bytes": 9}, {"file_bytes": 9}, True),
        ({**FILES, "limit_file_bytes": 9}, {}, False),
        ({"outcome": "crash", "reason": "signal 11", "limit_processes": 64}, {}, True),
    ],
)  # fmt: skip
def test_further_limits(
    store: Store,
    attempts: Rows,
    row: dict[str, Any],
    asked: dict[str, Any],
    expected: bool,
) -> None:
    store.append(attempts({"key": "a", "wall_seconds": 1.0, "peak_mib": 1.0, **row}))
    reuse = store.served(["a"], seconds=SECONDS, memory_mib=MEMORY, **asked)
    assert bool(reuse.served) is expected


def test_rows_without_limits_or_measures_serve(store: Store, attempts: Rows) -> None:
    store.append(attempts({"key": "a"}))
    assert store.served(["a"], seconds=1, memory_mib=1).served == {"a": "a"}


def test_an_ok_row_without_predictions_serves_only_who_wants_none(
    store: Store, attempts: Rows
) -> None:
    rows = [{"key": "a"}, {"key": "b"}, {"key": "c", "outcome": "error"}]
    store.append(attempts(*rows), pa.table({"key": ["a"], "labels": [["x"]]}))
    for predictions, expected in [(True, {"a", "c"}), (False, {"a", "b", "c"})]:
        reuse = store.served(["a", "b", "c"], seconds=1, memory_mib=1, predictions=predictions)
        assert set(reuse.served) == expected


def test_what_evaluations_shows_is_what_serves(store: Store, attempts: Rows) -> None:
    store.append(
        attempts(
            {"key": "a", "outcome": "error", "attempt": 1},
            {"key": "a", "outcome": "infra", "attempt": 4},
            {"key": "b", "outcome": "ok", "attempt": 1},
            {"key": "b", "outcome": "timeout", "limit_seconds": 1.0, "attempt": 2},
            {"key": "c", "outcome": "infra", "attempt": 1},
        )
    )
    reuse = store.served(["a", "b", "c", "d"], seconds=5, memory_mib=1)
    assert reuse.served == {"a": "a"}
    assert reuse.outcomes == {"a": "error"}
    assert reuse.attempts == {"a": 5, "b": 3, "c": 2}


def rows_of_two_versions(attempts: Rows) -> pa.Table:
    old, older = '{"lightgbm": "4.6"}', '{"lightgbm": "4.5"}'
    names = {"system": "C-BDT"}
    return attempts(
        {"key": key({"i": 0}, NOW), "versions": "{}", **names},
        {"key": key({"i": 0}, BEFORE), "versions": old, **names},
        {"key": key({"i": 1}, BEFORE), "versions": old, **names},
        {"key": key({"i": 1}, {"lightgbm": "4.5"}), "versions": older, "run_id": "r0", **names},
        {"key": key({"i": 2}, BEFORE), "versions": old, "outcome": "error", **names},
        {"key": key({"i": 3}, BEFORE), "versions": old, "outcome": "infra", **names},
        {"key": key({"i": 9}, BEFORE), "versions": old, **names},
    )


def test_rows_of_other_versions_are_told(store: Store, attempts: Rows) -> None:
    store.append(rows_of_two_versions(attempts))
    planned = [key({"i": index}, NOW) for index in range(5)]
    reuse = store.served(planned, seconds=1, memory_mib=1)
    assert set(reuse.served) == {planned[0]}
    assert reuse.stale == (Stale("C-BDT", '{"lightgbm": "4.6"}', 2),)
    reuse = store.served(planned, seconds=1, memory_mib=1, rerun=["error"])
    assert reuse.stale == (Stale("C-BDT", '{"lightgbm": "4.6"}', 1),)


def test_rows_of_other_versions_serve_where_accepted(store: Store, attempts: Rows) -> None:
    store.append(rows_of_two_versions(attempts))
    planned = [key({"i": index}, NOW) for index in range(5)]
    reuse = store.served(planned, seconds=1, memory_mib=1, accept_versions=True)
    assert reuse.served == {
        planned[0]: planned[0],
        planned[1]: key({"i": 1}, BEFORE),
        planned[2]: key({"i": 2}, BEFORE),
    }
    assert reuse.outcomes == {planned[0]: "ok", planned[1]: "ok", planned[2]: "error"}
    assert reuse.scores == {planned[0]: 0.5, planned[1]: 0.5, planned[2]: None}
    assert reuse.stale == ()


def test_a_row_without_a_score_serves_with_its_predictions_alone(
    store: Store, attempts: Rows
) -> None:
    rows = attempts({"key": "a", "score": None}, {"key": "b", "score": None})
    store.append(rows, pa.table({"key": ["b"]}))
    assert set(store.served(["a", "b"], seconds=1e9, memory_mib=1e9).served) == {"b"}


def test_a_hundred_thousand_keys(store: Store) -> None:
    """Every other row is of another version; benchmarks/ has the time it takes."""
    count = 100_000
    planned = [key({"i": index}, NOW) for index in range(count)]
    stored = [key({"i": i}, NOW if i % 2 else BEFORE) for i in range(count)]
    columns = {"outcome": "ok", "score": 0.5, "system": "C-BDT"}
    store.append(
        pa.table({"key": stored, **{name: [value] * count for name, value in columns.items()}})
    )
    begun = time.perf_counter()
    reuse = store.served(planned, seconds=1, memory_mib=1)
    print(f"{time.perf_counter() - begun:.2f} s")
    assert len(reuse.served) == count // 2
    assert reuse.stale == (Stale("C-BDT", "", count // 2),)
