"""Ranks over tasks, against the example that Demsar (2006) works out by hand."""

from __future__ import annotations

import pytest

from runner.ensemble.statistics import critical_difference, rank

# Demsar (2006), table 6: AUC of C4.5 with neither, either or both of two changes, on 14 data sets.
TABLE = """
0.763 0.768 0.771 0.798
0.599 0.591 0.590 0.569
0.954 0.971 0.968 0.967
0.628 0.661 0.654 0.657
0.882 0.888 0.886 0.898
0.936 0.931 0.916 0.931
0.661 0.668 0.609 0.685
0.583 0.583 0.563 0.625
0.775 0.838 0.866 0.875
1.000 1.000 1.000 1.000
0.940 0.962 0.965 0.962
0.619 0.666 0.614 0.669
0.972 0.981 0.9751 0.975
0.957 0.978 0.946 0.970
"""
NAMES = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")


def _table() -> dict[str, dict[str, float]]:
    rows = [[float(cell) for cell in line.split()] for line in TABLE.split("\n") if line]
    return {
        name: {str(task): row[place] for task, row in enumerate(rows)}
        for place, name in enumerate(NAMES)
    }


def test_demsars_example_comes_out_as_printed() -> None:
    found = rank(_table())
    assert found is not None
    ranks = dict(zip(found.techniques, found.ranks, strict=True))
    # Printed: 3.143, 2.000, 2.893, 1.964; chi-squared 9.28, uncorrected for ties; CD 1.25.
    assert ranks["C4.5"] == pytest.approx(3.143, abs=5e-4)
    assert ranks["C4.5+m"] == pytest.approx(2.000, abs=5e-4)
    assert ranks["C4.5+cf"] == pytest.approx(2.893, abs=5e-4)
    assert ranks["C4.5+m+cf"] == pytest.approx(1.964, abs=5e-4)
    assert found.critical_difference == pytest.approx(1.25, abs=5e-3)
    assert found.differs
    assert found.tasks == 14


def test_groups_are_the_largest_that_one_difference_spans() -> None:
    found = rank(_table())
    assert found is not None
    # 3.143 - 1.964 = 1.18 < 1.25: nothing differs by Nemenyi's test, as the paper says.
    assert found.groups == (("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"),)


def test_a_clear_order_leaves_no_groups() -> None:
    scores = {
        name: {str(t): place + t / 100 for t in range(20)} for place, name in enumerate("abc")
    }
    found = rank(scores)
    assert found is not None
    assert found.techniques == ("c", "b", "a")
    assert found.groups == ()


@pytest.mark.parametrize(
    ("techniques", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (8, 3.031), (10, 3.164)]
)
def test_critical_values_are_those_of_the_printed_table(techniques: int, q: float) -> None:
    # Demsar (2006), table 5(a), level .05.
    factor = (techniques * (techniques + 1) / 6) ** 0.5
    assert critical_difference(techniques, 1) / factor == pytest.approx(q, abs=1e-3)


def test_tasks_without_all_scores_do_not_count() -> None:
    scores = {"a": {"x": 1.0, "y": 2.0, "z": 3.0}, "b": {"x": 0.5, "y": 2.5}}
    found = rank(scores)
    assert found is not None
    assert (found.tasks, found.statistic) == (2, None)
    assert rank({"a": {"x": 1.0}, "b": {"x": 0.5}}) is None
    assert rank({"a": {"x": 1.0, "y": 1.0}}) is None


def test_all_ties_are_no_difference() -> None:
    found = rank({name: {"x": 0.5, "y": 0.5} for name in "abc"})
    assert found is not None
    assert (found.ranks, found.p_value) == ((2.0, 2.0, 2.0), 1.0)
