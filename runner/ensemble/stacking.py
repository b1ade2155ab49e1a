"""Stacking: a logistic regression on the base models' confidences."""

from __future__ import annotations

import numpy as np

from runner.ensemble.features import UnitVariance
from runner.ensemble.technique import Answer, Part


class Stacking:
    """Scikit-learn's logistic regression with its defaults, on unscaled confidences.

    The inputs are every model's confidence of every class, or of the second one where there are
    two. A class that the rows learnt from lack gets confidence 0.

    Args:
        passthrough: Whether the task's features are inputs too, scaled to unit variance.
        max_iter: Of the regression.
    """

    def __init__(self, passthrough: bool = False, max_iter: int = 1000) -> None:
        self.passthrough = passthrough
        self.max_iter = max_iter

    def fit(
        self,
        confidences: np.ndarray,
        predictions: np.ndarray,
        y: np.ndarray,
        X: np.ndarray | None = None,
    ) -> Stacking:
        from sklearn.linear_model import LogisticRegression

        if self.passthrough:
            self._learn_scale(X)
        self._model = LogisticRegression(max_iter=self.max_iter)
        self._model.fit(self._inputs(confidences, X), y)
        return self

    def predict(
        self, confidences: np.ndarray, predictions: np.ndarray, X: np.ndarray | None = None
    ) -> np.ndarray:
        known = self._model.predict_proba(self._inputs(confidences, X))
        shares = np.zeros((len(known), confidences.shape[2]))
        shares[:, self._model.classes_] = known
        return shares

    def _inputs(self, confidences: np.ndarray, X: np.ndarray | None) -> np.ndarray:
        rows, classes = confidences.shape[1:]
        used = confidences[:, :, 1:] if classes == 2 else confidences
        inputs = used.transpose(1, 0, 2).reshape(rows, -1).astype(np.float64)
        if not self.passthrough:
            return inputs
        assert X is not None
        return np.hstack([inputs, self._scale.apply(X)])

    def _learn_scale(self, X: np.ndarray | None) -> None:
        if X is None:
            raise ValueError("stacking with passthrough needs the task's features")
        self._scale = UnitVariance.learn(X)


class VirtualBestEnsemble:
    """Stacking that learns from the very rows it is asked for: the paper's VBE.

    Args:
        passthrough: As in Stacking.
        max_iter: As in Stacking.
    """

    def __init__(self, passthrough: bool = False, max_iter: int = 1000) -> None:
        self.passthrough = passthrough
        self.max_iter = max_iter

    def answer(self, part: Part) -> Answer:
        stacking = Stacking(self.passthrough, self.max_iter)
        stacking.fit(part.confidences, part.predictions, part.y, part.X)
        shares = stacking.predict(part.confidences, part.predictions, part.X)
        return Answer(shares.argmax(axis=1).astype(np.int16), shares)
