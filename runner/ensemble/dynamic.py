"""Dynamic selection by an empirical performance model: other models for every row."""

from __future__ import annotations

from typing import Self

import numpy as np

from runner.ensemble.performance_model import PerformanceModel, checked_forest, errors
from runner.ensemble.technique import Answer
from runner.ensemble.voting import checked_kind, vote_shares


class _Selection:
    """What both have: a model of how much each base model errs on a row."""

    def __init__(
        self, trees: int, forest: str, random_state: int | np.random.RandomState | None
    ) -> None:
        self.trees = trees
        self.forest = checked_forest(forest)
        self.random_state = random_state

    def fit(
        self,
        confidences: np.ndarray,
        predictions: np.ndarray,
        y: np.ndarray,
        X: np.ndarray | None = None,
    ) -> Self:
        model = PerformanceModel(self.trees, self.forest, self.random_state)
        self._performance = model.fit(X, errors(confidences, predictions, y))
        return self


class DynamicClassifierSelection(_Selection):
    """Each row is answered by the model that is expected to err least on it: the paper's DCS.

    Args:
        trees: Of the performance model's forest.
        forest: ``own`` or ``scikit-learn``, see PerformanceModel.
        random_state: A seed or generator.
    """

    def __init__(
        self,
        trees: int = 100,
        forest: str = "own",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        super().__init__(trees, forest, random_state)

    def predict(
        self, confidences: np.ndarray, predictions: np.ndarray, X: np.ndarray | None = None
    ) -> Answer:
        chosen = self._performance.predict(X).argmin(axis=1)
        rows = np.arange(len(chosen))
        return Answer(predictions[chosen, rows], confidences[chosen, rows])


class DynamicEnsembleSelection(_Selection):
    """On each row those models vote that are expected to err least: the paper's DES.

    Models join from the best on while the errors expected of those before sum to less than a share
    of all models'.

    Args:
        share: That share.
        kind: ``hard``, they vote for classes; ``soft``, their confidences are averaged.
        trees: As in DynamicClassifierSelection, like the next ones.
        forest: See there.
        random_state: See there.
    """

    def __init__(
        self,
        share: float = 0.5,
        kind: str = "hard",
        trees: int = 100,
        forest: str = "own",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.share = share
        self.kind = checked_kind(kind)
        super().__init__(trees, forest, random_state)

    def predict(
        self, confidences: np.ndarray, predictions: np.ndarray, X: np.ndarray | None = None
    ) -> np.ndarray:
        voters = chosen(self._performance.predict(X), self.share)
        if self.kind == "hard":
            return vote_shares(predictions, confidences.shape[2], voters.T)
        weights = voters / voters.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("rm,mrc->rc", weights, confidences))


def chosen(expected: np.ndarray, share: float) -> np.ndarray:
    """Which models vote on a row, given the errors expected of each; the best one always does.

    Args:
        expected: (rows, models), at least 0.
        share: Of a row's sum.

    Returns:
        (rows, models) bool.
    """
    best_first = np.argsort(expected, axis=1, kind="stable")
    ranked = np.take_along_axis(expected, best_first, axis=1)
    summed = np.cumsum(ranked, axis=1)
    before = np.hstack([np.zeros((len(summed), 1)), summed[:, :-1]])
    joins = before < share * summed[:, -1:]
    joins[:, 0] = True
    voters = np.empty_like(joins)
    np.put_along_axis(voters, best_first, joins, axis=1)
    return voters
