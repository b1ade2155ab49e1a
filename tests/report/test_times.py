"""Which times stand in a report, and their intervals, against numbers worked out by hand."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from runner.report import configurations, summary, write
from runner.report.times import confidence
from runner.store import Store, Wanted

from .conftest import evaluation

Record = Callable[..., Store]


def rows_of(
    times: list[list[float | None]], system: str = "C-LR", configuration_id: int = 0, **columns: Any
) -> list[dict[str, Any]]:
    """Rows with these times by repeat and fold; None is a timeout."""
    rows = []
    for repeat, folds in enumerate(times):
        for fold, seconds in enumerate(folds):
            row = evaluation("wdbc", system, configuration_id, fold) | columns
            row |= {"repeat": repeat, "key": f"{row['key']}/{repeat}"}
            ok = {"score": 0.5 + fold / 10, "fit_seconds": seconds}
            rows.append(row | (ok if seconds is not None else {"outcome": "timeout"}))
    return rows


def wanted(*groups: list[dict[str, Any]]) -> tuple[Wanted, ...]:
    """One group for each system."""
    return tuple(
        Wanted(
            "wdbc",
            rows[0]["system"],
            1 + max(row["fold"] for row in rows),
            tuple(row["key"] for row in rows),
            1 + max(row["repeat"] for row in rows),
        )
        for rows in groups
    )


def test_totals_of_repeats(record: Record) -> None:
    first = rows_of([[1.0, 2.0], [1.5, 2.5], [5.0, 1.0]])
    second = rows_of([[10.0, 20.0], [10.0, 22.0], [11.0, 18.0]], configuration_id=1)
    store = record(first + second, wanted(first + second))
    (row,) = summary(store).to_pylist()
    # The three repeats took 33, 36 and 35 s.
    assert row["total_training_seconds"] == 35.0
    assert (row["total_training_seconds_low"], row["total_training_seconds_high"]) == (33.0, 36.0)
    assert row["average_training_seconds"] == 17.5
    assert (row["repeats"], row["ok"], row["configuration_id"]) == (3, 12, 0)
    assert row["cv_auc"] == pytest.approx(0.55)
    assert row["cv_auc_sd"] == pytest.approx(statistics.stdev([0.5, 0.6]))
    found = configurations(store).to_pylist()
    assert [r["training_seconds"] for r in found] == [4.0, 30.0]
    assert [r["training_seconds_low"] for r in found] == [3.0, 29.0]
    assert [r["training_seconds_high"] for r in found] == [6.0, 32.0]


def test_where_a_repeat_is_missing_there_is_no_interval(record: Record) -> None:
    rows = rows_of([[1.0, 2.0], [3.0, None]])
    (row,) = summary(record(rows, wanted(rows))).to_pylist()
    assert row["total_training_seconds"] == 4.0
    assert row["total_training_seconds_low"] is None
    assert row["configuration_id"] is None


def test_one_repeat_has_no_interval_and_no_note(record: Record, tmp_path: Path) -> None:
    rows = rows_of([[1.0, 2.0]])
    store = record(rows, wanted(rows))
    assert summary(store)["total_training_seconds_low"].to_pylist() == [None]
    assert not any("repeats" in note for note in write(store, tmp_path / "report").notes)


@pytest.mark.parametrize("repeats", [2, 3, 6])
def test_the_interval_holds_what_it_promises(repeats: int) -> None:
    draw = random.Random(0)
    # A skewed distribution: its median is ln 2.
    samples = [[draw.expovariate(1.0) for _ in range(repeats)] for _ in range(20_000)]
    held = sum(min(sample) <= 0.6931471805599453 <= max(sample) for sample in samples)
    assert held / len(samples) == pytest.approx(confidence(repeats), abs=0.015)


def test_the_interval_is_printed_and_explained(record: Record, tmp_path: Path) -> None:
    rows = rows_of([[1.0, 2.0], [1.5, 2.5]])
    report = write(record(rows, wanted(rows)), tmp_path / "report")
    assert any("50 % (2 repeats)" in note for note in report.notes)


@pytest.mark.parametrize("odd", [{"timing": "exclusive"}, {"enforced": '{"size": "fitted"}'}])
def test_times_of_two_kinds_never_stand_in_one_table(
    record: Record, tmp_path: Path, odd: dict[str, str]
) -> None:
    pure = rows_of([[1.0, 2.0]])
    mixed = rows_of([[3.0, 4.0]], "C-BDT")
    mixed[0] |= odd
    store = record(pure + mixed, wanted(pure, mixed))
    first, second = summary(store).to_pylist()
    assert first["total_training_seconds"] == 3.0
    assert second["total_training_seconds"] is None
    assert second["average_training_seconds"] is None
    assert second["cv_auc"] is not None
    assert configurations(store)["training_seconds"].to_pylist() == [3.0, None]
    notes = "\n".join(write(store, tmp_path / "report").notes)
    assert "Times are packed; times of another kind are left out" in notes


def test_rows_of_a_shrunk_sandbox_are_marked(record: Record, tmp_path: Path) -> None:
    rows = rows_of([[1.0, 2.0]], enforced='{"size": "fitted"}')
    store = record(rows, wanted(rows))
    assert summary(store)["fitted"].to_pylist() == [2]
    assert summary(store)["total_training_seconds"].to_pylist() == [3.0]
    notes = "\n".join(write(store, tmp_path / "report").notes)
    assert "2 evaluations ran in a sandbox shrunk" in notes


def test_times_of_different_machines_are_marked(record: Record, tmp_path: Path) -> None:
    here = rows_of([[1.0, 2.0, 3.0]], machine="big")
    there = rows_of([[1.0, 2.0]], "C-BDT", machine="small")
    both = rows_of([[1.0, 2.0, 3.0]], "C-SVM", machine="big")
    both[1] |= {"machine": "small"}
    groups = here, there, both
    store = record(list(chain(*groups)), wanted(*groups))
    assert summary(store)["machines"].to_pylist() == ["A", "B", "A+B"]
    report = write(store, tmp_path / "report")
    (note,) = [note for note in report.notes if "don't compare" in note]
    assert "A: big, 5 rows; B: small, 3 rows" in note
    assert "Times of several kinds of machine" in report.chart_svg.read_text()


def test_a_noisy_node_is_told(record: Record, tmp_path: Path) -> None:
    rows = rows_of([[1.0, 2.0, 3.0]], timing="exclusive", quiet=True)
    rows[1] |= {"quiet": False}
    report = write(record(rows, wanted(rows)), tmp_path / "report")
    assert any(note.startswith("1 of 3 exclusive times") for note in report.notes)
    assert not any("packed" in note for note in report.notes)


def test_refits_of_repeats(record: Record) -> None:
    rows = rows_of([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]])
    tests = []
    for repeat, seconds in enumerate([9.0, 7.0, 8.0]):
        row = evaluation("wdbc", "C-LR", 0, None) | {"score": 0.75, "fit_seconds": seconds}
        tests.append(row | {"repeat": repeat, "key": f"test/{repeat}"})
    keys = tuple(row["key"] for row in tests)
    (row,) = summary(record(rows + tests[:2], wanted(rows), tests=keys)).to_pylist()
    assert (row["test_outcome"], row["test_auc"]) == ("missing", None)
    (row,) = summary(record(tests[2:], (), run_id="r2", hours=-1)).to_pylist()
    assert (row["test_outcome"], row["test_auc"], row["refit_seconds"]) == ("ok", 0.75, 8.0)
