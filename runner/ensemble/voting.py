"""Voting: what most models say, or what they say on average."""

from __future__ import annotations

import numpy as np


def vote_shares(
    predictions: np.ndarray, classes: int, voters: np.ndarray | None = None
) -> np.ndarray:
    """The share of the votes that each class has.

    Args:
        predictions: (models, rows), positions in the classes.
        classes: How many there are.
        voters: (models, rows), whether a model has a vote on a row; None if all have.

    Returns:
        (rows, classes) float64.
    """
    votes = np.empty((predictions.shape[1], classes))
    for one in range(classes):
        chosen = predictions == one
        votes[:, one] = (chosen if voters is None else chosen & voters).sum(axis=0)
    shares: np.ndarray = votes / votes.sum(axis=1, keepdims=True)
    return shares


def checked_kind(kind: str) -> str:
    """The kind of voting.

    Raises:
        ValueError: There is none of that name.
    """
    if kind not in ("hard", "soft"):
        raise ValueError(f"kind of voting must be hard or soft, not {kind!r}")
    return kind


class Voting:
    """All models vote; ties go to the first class.

    Args:
        kind: ``hard``, each model votes for a class; ``soft``, their confidences are averaged.
    """

    def __init__(self, kind: str = "hard") -> None:
        self.kind = checked_kind(kind)

    def fit(
        self,
        confidences: np.ndarray,
        predictions: np.ndarray,
        y: np.ndarray,
        X: np.ndarray | None = None,
    ) -> Voting:
        return self

    def predict(
        self, confidences: np.ndarray, predictions: np.ndarray, X: np.ndarray | None = None
    ) -> np.ndarray:
        if self.kind == "soft":
            return np.asarray(confidences.mean(axis=0, dtype=np.float64))
        return vote_shares(predictions, confidences.shape[2])
