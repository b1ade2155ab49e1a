"""What linear classifiers trained by stochastic gradient descent have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runner.models.base import BinaryPathClassifier
from runner.models.family import Stop
from runner.models.scaling import Scaling


@dataclass(frozen=True)
class Rows:
    """Training rows as the kernels read them.

    Attributes:
        scaling: Standardises the columns.
        features: (rows, columns padded with noughts) float32, standardised.
        signs: (rows,) 1 or -1.
    """

    scaling: Scaling
    features: np.ndarray
    signs: np.ndarray


class LinearClassifier(BinaryPathClassifier):
    """The frame of the linear families: standardised rows in, weights and an intercept out.

    Attributes:
        coef_: Weights of the standardised columns, (1, columns).
        intercept_: The intercept, (1,).
    """

    random_state: int | None
    coef_: np.ndarray
    intercept_: np.ndarray

    def _prepare(self, X: np.ndarray, positive: np.ndarray) -> Rows:
        from runner.models.kernels.linear import LANES

        scaling = Scaling.learn(X)
        count, columns = X.shape
        features = np.zeros((count, -(-columns // LANES) * LANES), np.float32)
        features[:, :columns] = scaling.apply(X)
        return Rows(scaling, features, np.where(positive, 1.0, -1.0))

    def _train(self, rows: Rows, stops: Sequence[Stop]) -> Iterator[None]:
        self._scaling = rows.scaling
        for weights in self._descend(rows, stops):
            self.coef_ = weights[None, : self.n_features_in_].copy()
            self.intercept_ = weights[-1:].copy()
            yield None

    @abstractmethod
    def _descend(self, rows: Rows, stops: Sequence[Stop]) -> Iterator[np.ndarray]:
        """The weights at each stop, (padded columns + 1,) with the intercept last."""

    def _margin(self, X: np.ndarray) -> np.ndarray:
        from runner.models.kernels.linear import margins

        result = np.empty(len(X))
        margins(self._scaling.apply(X), self.coef_[0], self.intercept_[0], result)
        return result

    def _generator(self) -> np.ndarray:
        """The state of the kernels' generator at its start, (1,)."""
        return np.array([(self.random_state or 0) % 2**64], np.uint64)


def cost_of_passes(configuration: Mapping[str, Any], rows: int, columns: int) -> float:
    """Predicted CPU seconds of ``iterations`` passes over the rows, on the hinge loss."""
    return float(1e-5 + configuration["iterations"] * rows * (2e-8 + 3.5e-10 * columns))
