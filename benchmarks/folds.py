"""One 80 % fold of each of the three shapes on which the families are timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows.

    Attributes:
        shape: Rows and columns of the whole set, such as ``569 x 30``.
        X: (rows, columns) float64.
        y: (rows,) uint8.
    """

    shape: str
    X: np.ndarray
    y: np.ndarray

    @property
    def training(self) -> str:
        """The shape of what is trained on."""
        return " x ".join(f"{size:,}" for size in self.X.shape)


def small() -> Fold:
    """breast_cancer."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return _fold(X, y.astype(np.uint8))


def medium() -> Fold:
    """Synthetic, of D-EG's size, half of the rows positive."""
    return _fold(*_synthetic(7_395, 29, positive=0.5))


def large() -> Fold:
    """Synthetic, of D-AEA's size, with as many rows of the rarer class."""
    return _fold(*_synthetic(32_769, 135, positive=0.06))


SHAPES: dict[str, Callable[[], Fold]] = {"small": small, "medium": medium, "large": large}


def _fold(X: np.ndarray, y: np.ndarray) -> Fold:
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    train, _ = next(folds.split(X, y))
    return Fold(f"{X.shape[0]:,} x {X.shape[1]}", np.ascontiguousarray(X[train]), y[train])


def _synthetic(rows: int, columns: int, positive: float) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns, a third of them skewed; the class depends on a tenth, beneath noise."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(rows, columns // 3))
    X = factors @ rng.normal(size=(columns // 3, columns)) / np.sqrt(columns // 3)
    X += 0.3 * rng.normal(size=X.shape)
    informative = max(4, columns // 10)
    told = X[:, :informative] @ rng.normal(size=informative)
    told += 2 * X[:, 0] * X[:, 1] - 2 * np.abs(X[:, 2])
    noisy = told + rng.normal(scale=told.std(), size=rows)
    X[:, ::3] = np.exp(X[:, ::3])
    return X, (noisy > np.quantile(noisy, 1 - positive)).astype(np.uint8)
