"""Whether predictions are of the rows and the folds that a task has, each once."""

from __future__ import annotations

import numpy as np

from runner.errors import InputError
from runner.metatask.metatask import Finding


def row_order(name: str, row_ids: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Which rows of a file, in which order, are those expected: ``row_ids[order] == expected``.

    Args:
        name: The model's, for messages.
        row_ids: (n,) as in the file, whole numbers of any type.
        expected: (rows,) ascending, the rows that the task tests.

    Raises:
        InputError: A row is missing, there twice or none of the task's, or its number isn't one.
    """
    ids = np.asarray(row_ids, dtype=np.float64)
    if not np.all(np.isfinite(ids)) or np.any(ids != np.floor(ids)):
        raise InputError(f"{name}: column 'row_id' holds something that is no row's number")
    order = np.argsort(ids, kind="stable")
    found = ids[order].astype(np.int64)
    repeated = found[1:][found[1:] == found[:-1]]
    if len(repeated):
        raise InputError(f"{name}: row {repeated[0]} is there more than once")
    for rows, text in (
        (np.setdiff1d(expected, found), "lacks {} of {} rows, first row {}"),
        (np.setdiff1d(found, expected), "has {} rows beyond the task's {}, first row {}"),
    ):
        if len(rows):
            raise InputError(f"{name}: {text.format(len(rows), len(expected), rows[0])}")
    return order


def check_run_folds(found: np.ndarray, folds: np.ndarray) -> tuple[Finding, ...]:
    """Whether a run tested each row in the task's own fold; else its model may have learnt it.

    Args:
        found: (rows,) the fold that the run's file names.
        folds: (rows,) the task's.
    """
    rows = int(np.count_nonzero(np.asarray(found) != folds))
    if not rows:
        return ()
    return (Finding("folds", rows, False, f"{rows} rows were tested in another fold"),)


def check_folds(folds: np.ndarray) -> None:
    """Refuse folds that aren't numbered from 0 without a gap.

    Args:
        folds: (rows,) int; -1 where no fold tests a row.

    Raises:
        InputError: A fold is missing, a number is below -1, or nothing is tested at all.
    """
    numbers = np.unique(folds[folds != -1])
    if not len(numbers):
        raise InputError("no fold tests any row")
    if numbers[0] < 0:
        raise InputError(f"fold {numbers[0]}: folds are numbered from 0")
    missing = np.setdiff1d(np.arange(numbers[-1] + 1), numbers)
    if len(missing):
        raise InputError(f"fold {missing[0]} of folds 0 to {numbers[-1]} tests no row")
