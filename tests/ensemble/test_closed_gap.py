"""The closed gap against its definition."""

from __future__ import annotations

import statistics

import pytest

from runner.ensemble.closed_gap import Spread, closed_gap, closed_gaps, spread


def test_the_bounds_are_0_and_1_and_worse_than_the_single_best_is_negative() -> None:
    assert closed_gap(0.6, 0.6, 0.8) == 0
    assert closed_gap(0.8, 0.6, 0.8) == 1
    assert closed_gap(0.5, 0.6, 0.8) == pytest.approx(-0.5)
    assert closed_gap(0.7, 0.7, 0.7) is None
    # Sums of the same folds in another order.
    assert closed_gap(0.7, 0.1 + 0.2 + 0.4, 0.4 + 0.2 + 0.1) is None


def test_tasks_without_a_gap_are_named_and_don_t_count() -> None:
    scores = {
        "1": {"S": 0.5, "V": 1.0, "x": 0.75, "y": 0.5},
        "2": {"S": 0.5, "V": 0.5, "x": 0.75, "y": 0.5},
        "3": {"S": 0.6, "V": 0.8, "x": 0.6, "y": 0.9},
    }
    found = closed_gaps(scores, "S", "V")
    assert found.without_gap == ("2",)
    all_tasks = found.spread()
    assert all_tasks is not None
    assert all_tasks["x"].mean == pytest.approx(0.25)
    assert all_tasks["y"].std == pytest.approx(statistics.stdev([0, 1.5]))
    assert found.spread({"1"}) == {"x": Spread(0.5, None, 1), "y": Spread(0.0, None, 1)}
    assert found.spread({"2"}) is None


def test_a_single_value_has_no_deviation() -> None:
    assert spread([0.25]) == Spread(0.25, None, 1)
