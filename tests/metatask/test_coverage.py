"""Rows and folds that are the task's, and some that aren't, told by hand."""

from __future__ import annotations

import numpy as np
import pytest

from runner.errors import InputError
from runner.metatask.coverage import check_folds, check_run_folds, row_order


def test_rows_are_put_in_order_and_must_be_the_task_s() -> None:
    ids = np.array([4.0, 0.0, 2.0])
    expected = np.array([0, 2, 4])
    assert ids[row_order("run 5", ids, expected)].tolist() == [0, 2, 4]
    for wrong, said in (
        ([0, 2, 2], "run 5: row 2 is there more than once"),
        ([0, 2], r"lacks 1 of 3 rows, first row 4"),
        ([0, 1, 2, 4], r"has 1 rows beyond the task's 3, first row 1"),
        ([0, 2, 4.5], "no row's number"),
        ([0, 2, np.nan], "no row's number"),
    ):
        with pytest.raises(InputError, match=said):
            row_order("run 5", np.array(wrong), expected)


def test_folds_must_be_complete_and_a_run_s_must_be_the_task_s() -> None:
    check_folds(np.array([1, 0, -1, 2]))
    for wrong, said in (
        ([0, 2], "fold 1 of folds 0 to 2 tests no row"),
        ([1, 2], "fold 0 of folds 0 to 2"),
        ([-1, -1], "no fold tests any row"),
        ([0, -2], "fold -2: folds are numbered from 0"),
    ):
        with pytest.raises(InputError, match=said):
            check_folds(np.array(wrong))
    assert check_run_folds(np.array([0, 1, 1]), np.array([0, 1, 1])) == ()
    found = check_run_folds(np.array([0, 0, 1]), np.array([0, 1, 1]))
    assert [(one.rows, one.repaired) for one in found] == [(1, False)]
