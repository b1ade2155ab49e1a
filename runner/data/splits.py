"""Which rows train, which test, and in which fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runner.data.task import Task, TaskError


@dataclass(frozen=True, eq=False)
class Split:
    """The parts of a task of n rows.

    Attributes:
        train_rows: int64, rising: the rows of the cross-validation and of the refit.
        test_rows: int64, rising: the rows of the test score; none where a task has folds of its
            own.
        fold: int8 (n,): the fold in which a training row is held out, counted from 0; -1 on test
            rows.
    """

    train_rows: NDArray[np.int64]
    test_rows: NDArray[np.int64]
    fold: NDArray[np.int8]

    @property
    def folds(self) -> int:
        """How many there are."""
        return int(self.fold.max()) + 1


def split(task: Task, *, folds: int, holdout: float, seed: int) -> Split:
    """Stratified test rows and folds, determined by the seed; or the task's own folds.

    The test rows are those that the task brings, else scikit-learn's ``train_test_split``
    stratified by class; the folds are its ``StratifiedKFold`` with shuffling, over the training
    rows in rising order.

    Args:
        task: Only ``y``, ``given_test`` and ``folds`` count.
        folds: From 2 to 127.
        holdout: The share of rows kept for the test, where the task brings no test rows.
        seed: From 0 to 2^32 - 1.

    Raises:
        TaskError: When a class has fewer training rows than folds, or no row among test rows that
            have labels; when a fold of its own lacks a class.
    """
    if task.folds is not None:
        return _own_split(task, task.folds)
    train_rows, test_rows = _test_rows(task, holdout, seed)
    _check(task, train_rows, test_rows, folds)
    from sklearn.model_selection import StratifiedKFold

    fold = np.full(len(task.y), -1, dtype=np.int8)
    cross_validation = StratifiedKFold(folds, shuffle=True, random_state=seed)
    y = task.y[train_rows]
    for k, (_, held_out) in enumerate(cross_validation.split(np.zeros(len(y)), y)):
        fold[train_rows[held_out]] = k
    for array in (train_rows, test_rows, fold):
        array.setflags(write=False)
    return Split(train_rows, test_rows, fold)


def _own_split(task: Task, folds: NDArray[np.int8]) -> Split:
    for fold in range(int(folds.max()) + 1):
        tested = folds == fold
        for rows, part in ((tested, "tests"), (~tested, "trains on")):
            if np.bincount(task.y[rows], minlength=2).min() < 1:
                lacking = task.negative if task.y[rows].any() else task.positive
                raise TaskError(
                    f"fold {fold} of {task.name} {part} no row of class {lacking!r}, and a score "
                    "needs rows of both classes",
                    key="openml",
                )
    rows = np.arange(len(task.y), dtype=np.int64)
    for array in (rows, folds):
        array.setflags(write=False)
    return Split(rows, rows[:0], folds)


def _test_rows(
    task: Task, holdout: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows = np.arange(len(task.y), dtype=np.int64)
    if task.given_test:
        return rows[: -task.given_test], rows[-task.given_test :]
    from sklearn.model_selection import train_test_split

    try:
        train, test = train_test_split(rows, test_size=holdout, random_state=seed, stratify=task.y)
    except ValueError as error:
        raise TaskError(
            f"{len(rows)} rows, {_fewest(task, rows)}: too few for a stratified hold-out of "
            f"{holdout:g}",
            key="target",
        ) from error
    return np.sort(train), np.sort(test)


def _check(
    task: Task, train_rows: NDArray[np.int64], test_rows: NDArray[np.int64], folds: int
) -> None:
    if np.bincount(task.y[train_rows], minlength=2).min() < folds:
        left = "" if task.given_test else " after the hold-out"
        raise TaskError(
            f"{_fewest(task, train_rows)}{left}, fewer than the {folds} folds; ask for fewer folds "
            "or choose a more frequent class",
            key="target",
        )
    if task.has_test_labels and np.bincount(task.y[test_rows], minlength=2).min() < 1:
        raise TaskError(
            f"{_fewest(task, test_rows)} among the {len(test_rows)} kept for the test, and a score "
            "needs rows of both classes; keep a larger hold-out",
            key="target",
        )


def _fewest(task: Task, rows: NDArray[np.int64]) -> str:
    counts = np.bincount(task.y[rows], minlength=2)
    rarer = int(counts.argmin())
    label = task.positive if rarer else task.negative
    count = int(counts[rarer])
    return f"class {label!r} has {count} row{'' if count == 1 else 's'}"
