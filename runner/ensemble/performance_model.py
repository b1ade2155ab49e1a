"""The empirical performance model: predicts from a row's features how wrong each base model is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


def errors(confidences: np.ndarray, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How wrong each model is of each row: 1 for a wrong class, and what its confidence lacks.

    Returns:
        (rows, models) float64, from 0 to 2.
    """
    true = confidences[:, np.arange(len(y)), y].astype(np.float64)
    return np.ascontiguousarray(((predictions != y) + (1.0 - true)).T)


@dataclass(frozen=True)
class _Tree:
    packed: np.ndarray
    cuts: np.ndarray
    rows: np.ndarray
    copies: np.ndarray


class RegressionForest:
    """A random forest for many outputs at once, like scikit-learn's with its defaults.

    It draws the same bags as ``RandomForestRegressor(trees, random_state=random_state)``. Where two
    features' cuts are equally good it may take another one: the order in which features are tried
    is random, and theirs isn't ours. Trees grow on 64-bit values where theirs are 32-bit.

    Args:
        trees: How many.
        random_state: A seed or generator.
    """

    def __init__(self, trees: int, random_state: int | np.random.RandomState | None = 0) -> None:
        self.trees = trees
        self.random_state = random_state

    def fit(self, X: np.ndarray, targets: np.ndarray) -> RegressionForest:
        """Grow the trees.

        Args:
            X: (rows, features), finite.
            targets: (rows, outputs).
        """
        from sklearn.utils import check_random_state

        from runner.ensemble.kernels.regression_forest import LANES

        rows, outputs = targets.shape
        self._outputs = outputs
        self._targets = np.zeros((rows, outputs + -outputs % LANES))
        self._targets[:, :outputs] = targets
        values = np.ascontiguousarray(X.T, dtype=np.float64)
        ascending = np.argsort(values, axis=1, kind="stable").astype(np.int32)
        norms = np.einsum("ij,ij->i", self._targets, self._targets)
        random = check_random_state(self.random_state)
        seeds = [random.randint(np.iinfo(np.int32).max) for _ in range(self.trees)]
        # Seeding one generator again is ten times as quick as making another.
        bags = np.random.RandomState(0)
        self._grown = []
        for seed in seeds:
            bags.seed(seed)
            drawn = bags.randint(0, rows, rows, dtype=np.int32)
            copies = np.bincount(drawn, minlength=rows).astype(np.int32)
            self._grown.append(self._grow(values, ascending, norms, copies, int(seed)))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The trees' mean.

        Args:
            X: (rows, features).

        Returns:
            (rows, outputs) float64.
        """
        from runner.ensemble.kernels.regression_forest import add_forecast

        forecast = np.zeros((len(X), self._targets.shape[1]))
        asked = np.ascontiguousarray(X, dtype=np.float64)
        for tree in self._grown:
            add_forecast(
                asked, tree.packed, tree.cuts, tree.rows, tree.copies, self._targets, forecast
            )
        return forecast[:, : self._outputs] / self.trees

    def _grow(
        self,
        values: np.ndarray,
        ascending: np.ndarray,
        norms: np.ndarray,
        copies: np.ndarray,
        seed: int,
    ) -> _Tree:
        from runner.ensemble.kernels.regression_forest import grow

        n = values.shape[1]
        nodes = np.empty((2 * n, 4), dtype=np.int32)
        cuts = np.empty(2 * n)
        rows = np.empty(n, dtype=np.int32)
        made = grow(
            values, ascending, self._targets, norms, copies, np.uint64(seed), nodes, cuts, rows
        )
        feature, left, start, stop = nodes[:made].T
        leaf = feature < 0
        packed = np.stack([np.where(leaf, -1 - start, feature), np.where(leaf, stop, left)], axis=1)
        used = rows[: int(stop[0])].copy()
        return _Tree(packed, cuts[:made].copy(), used, copies[used])


FORESTS = ("own", "scikit-learn")


def checked_forest(forest: str) -> str:
    """The forest's name.

    Raises:
        ValueError: There is none of that name.
    """
    if forest not in FORESTS:
        raise ValueError(f"forest must be {' or '.join(FORESTS)}, not {forest!r}")
    return forest


class PerformanceModel:
    """A forest from a row's features to the errors of all base models.

    Args:
        trees: How many.
        forest: ``own``, the one above; ``scikit-learn``, RandomForestRegressor, the same in theory
            and several times slower.
        random_state: A seed or generator.
    """

    def __init__(
        self,
        trees: int = 100,
        forest: str = "own",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.trees = trees
        self.forest = checked_forest(forest)
        self.random_state = random_state

    def fit(self, X: np.ndarray | None, errors: np.ndarray) -> PerformanceModel:
        """Learn from rows (rows, features) and the models' errors of them (rows, models)."""
        if X is None:
            raise ValueError("a performance model needs the task's features")
        self._forest = self._made()
        self._forest.fit(X, errors)
        return self

    def predict(self, X: np.ndarray | None) -> np.ndarray:
        """The expected errors (rows, models)."""
        assert X is not None
        expected = np.asarray(self._forest.predict(X))
        return expected.reshape(len(X), -1)

    def _made(self) -> Any:
        if self.forest == "own":
            return RegressionForest(self.trees, self.random_state)
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(self.trees, random_state=self.random_state)
