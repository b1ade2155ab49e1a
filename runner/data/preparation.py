"""From a task's arrays to the matrices that a family is fitted on, learnt on training rows alone.

This runs in the sandbox, on memory-mapped arrays: it knows NumPy only, and scikit-learn where a
column needs target encoding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runner.data.splits import Split
from runner.data.task import Task

PREPARATION_VERSION = 1
"""Goes up whenever a prepared matrix changes by a bit."""

ONE_HOT_LEVELS = 64
"""A column of more training levels is target-encoded. A gap is a level of its own."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a fit and its score need.

    Attributes:
        X_train: float64 (m, d), C-contiguous, without NaN: the numeric columns, then for each
            categorical one its levels (one-hot, in order, the gap last) or its encoding.
        y_train: uint8 (m,).
        X_test: float64 (k, d), C-contiguous.
        y_test: uint8 (k,).
        test_rows: int64 (k,), the task's rows that ``X_test`` holds.
    """

    X_train: NDArray[np.float64]
    y_train: NDArray[np.uint8]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.uint8]
    test_rows: NDArray[np.int64]


def arrays(task: Task, split: Split) -> dict[str, np.ndarray]:
    """The plain-array form of a task and its folds, which ``prepare`` reads.

    Returns:
        ``numeric`` float64 (n, p), ``categorical`` int32 (n, q), ``levels`` int32 (q,) (how many
        levels each has), ``y`` uint8 (n,), ``fold`` int8 (n,).
    """
    return {
        "numeric": task.numeric,
        "categorical": task.categorical,
        "levels": np.array([len(c.levels) for c in task.categorical_columns()], dtype=np.int32),
        "y": task.y,
        "fold": split.fold,
    }


def prepare(arrays: Mapping[str, np.ndarray], fold: int | None, seed: int) -> Prepared:
    """Learn the preparation on the training rows and apply it to both parts.

    Numeric gaps get the training rows' mean (0 where these are all gaps). A categorical column
    becomes one-hot over the levels that its training rows have; a level they don't have is all
    zeros. A column of more than ``ONE_HOT_LEVELS`` is encoded by scikit-learn's ``TargetEncoder``,
    cross-fitted on the training rows, so that no row's own class is in its encoding.

    Args:
        arrays: As ``arrays`` gives them.
        fold: The fold to hold out; None to train on all training rows and apply to the test rows.
        seed: Of the target encoder's cross-fitting, from 0 to 2^32 - 1.
    """
    folds = arrays["fold"]
    train = np.flatnonzero((folds >= 0) & (folds != fold) if fold is not None else folds >= 0)
    test = np.flatnonzero(folds == (-1 if fold is None else fold))
    y_train = arrays["y"][train]
    codes_train = arrays["categorical"][train]
    encoders = _Encoders(codes_train, arrays["levels"])
    width = arrays["numeric"].shape[1]
    X_train = np.zeros((len(train), width + encoders.width))
    X_test = np.zeros((len(test), width + encoders.width))
    _impute(arrays["numeric"], train, test, X_train, X_test)
    encoders.fit_transform(codes_train, y_train, seed, X_train[:, width:])
    encoders.transform(arrays["categorical"][test], X_test[:, width:])
    return Prepared(X_train, y_train, X_test, arrays["y"][test], test)


def uses_target_encoder(task: Task) -> bool:
    """Whether a column of the task can have more training levels than become one-hot."""
    return any(len(column.levels) + 1 > ONE_HOT_LEVELS for column in task.categorical_columns())


def prepared_columns(task: Task) -> int:
    """How many columns the prepared matrix has, give or take what a fold lacks of the levels."""
    width = int(task.numeric.shape[1])
    for j, column in enumerate(task.categorical_columns()):
        levels = len(column.levels) + bool((task.categorical[:, j] < 0).any())
        width += levels if levels <= ONE_HOT_LEVELS else 1
    return width


def _impute(
    numeric: NDArray[np.float64],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    X_train: NDArray[np.float64],
    X_test: NDArray[np.float64],
) -> None:
    """Fill the first columns of both matrices."""
    width = numeric.shape[1]
    X_train[:, :width] = numeric[train]
    X_test[:, :width] = numeric[test]
    for j in range(width):
        missing = np.isnan(X_train[:, j])
        present = X_train[~missing, j]
        mean = present.mean() if len(present) else 0.0
        X_train[missing, j] = mean
        X_test[np.isnan(X_test[:, j]), j] = mean


class _Encoders:
    """The encodings of all categorical columns.

    Args:
        codes: int32 (m, q), the training rows.
        levels: int32 (q,), how many levels each column has.
    """

    def __init__(self, codes: NDArray[np.int32], levels: NDArray[np.int32]):
        self._one_hot: list[tuple[int, int, NDArray[np.int64]]] = []
        self._encoded: list[tuple[int, int]] = []
        self.width = 0
        for j, count in enumerate(levels):
            seen = np.flatnonzero(np.bincount(_gap_last(codes[:, j], count), minlength=count + 1))
            if len(seen) > ONE_HOT_LEVELS:
                self._encoded.append((j, self.width))
                self.width += 1
                continue
            place = np.full(count + 1, -1, dtype=np.int64)
            place[seen] = np.arange(self.width, self.width + len(seen))
            self._one_hot.append((j, int(count), place))
            self.width += len(seen)

    def fit_transform(
        self,
        codes: NDArray[np.int32],
        y: NDArray[np.uint8],
        seed: int,
        out: NDArray[np.float64],
    ) -> None:
        """Learn the target encodings and write the training rows, (m, width), which hold 0."""
        self._write_one_hot(codes, out)
        if self._encoded:
            from sklearn.model_selection import StratifiedKFold
            from sklearn.preprocessing import TargetEncoder

            cross_fitting = StratifiedKFold(5, shuffle=True, random_state=seed)
            self._target_encoder = TargetEncoder(target_type="binary", cv=cross_fitting)
            sources, places = np.array(self._encoded).T
            out[:, places] = self._target_encoder.fit_transform(codes[:, sources], y)

    def transform(self, codes: NDArray[np.int32], out: NDArray[np.float64]) -> None:
        """Write other rows, (k, width), which hold 0."""
        self._write_one_hot(codes, out)
        if self._encoded and len(codes):
            sources, places = np.array(self._encoded).T
            out[:, places] = self._target_encoder.transform(codes[:, sources])

    def _write_one_hot(self, codes: NDArray[np.int32], out: NDArray[np.float64]) -> None:
        for j, count, place in self._one_hot:
            columns = place[_gap_last(codes[:, j], count)]
            rows = np.flatnonzero(columns >= 0)
            out[rows, columns[rows]] = 1.0


def _gap_last(codes: NDArray[np.int32], count: int) -> NDArray[np.int64]:
    return np.where(codes < 0, count, codes).astype(np.int64)
