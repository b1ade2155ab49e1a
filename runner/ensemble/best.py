"""The best base model: chosen on the rows learnt from, or by an oracle for each row."""

from __future__ import annotations

import numpy as np

from runner.ensemble.technique import Answer, Part
from runner.metrics import named


class SingleBest:
    """The base model that scores best on the rows learnt from; the first of equals.

    Args:
        metric: Of ``runner.metrics.METRICS``.

    Attributes:
        best_: The model's position.
        scores_: (models,), what each one scores.
    """

    def __init__(self, metric: str = "auc") -> None:
        self.metric = named(metric).name

    def fit(
        self,
        confidences: np.ndarray,
        predictions: np.ndarray,
        y: np.ndarray,
        X: np.ndarray | None = None,
    ) -> SingleBest:
        score = named(self.metric).score
        self.scores_ = np.array(
            [score(y, hard, soft) for hard, soft in zip(predictions, confidences, strict=True)]
        )
        self.best_ = int(self.scores_.argmax())
        return self

    def predict(
        self, confidences: np.ndarray, predictions: np.ndarray, X: np.ndarray | None = None
    ) -> Answer:
        return Answer(predictions[self.best_], confidences[self.best_])


class VirtualBest:
    """For each row the model that is most confident of the true class among those that are right.

    Where none is right, among all; the first of equals. Its classes are those of the paper's VBA,
    which takes the first model that is right: for a score of classes that is the same, but its
    confidences are whichever model's, and can score below a single model's.
    """

    def answer(self, part: Part) -> Answer:
        rows = np.arange(len(part.y))
        right = part.predictions == part.y
        confidence = part.confidences[:, rows, part.y]
        candidates = right | ~right.any(axis=0)
        chosen = np.where(candidates, confidence, -np.inf).argmax(axis=0)
        return Answer(part.predictions[chosen, rows], part.confidences[chosen, rows])
