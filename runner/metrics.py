"""Scores of predictions, exact and fast."""

from __future__ import annotations

import numpy as np


def auc(y: np.ndarray, score: np.ndarray) -> float:
    """Area under the ROC curve: the chance that a positive row scores above a negative one.

    Tied pairs count one half. The pairs are counted in whole numbers and divided once, so that the
    result is the correctly rounded quotient, whatever the order of the rows.

    Args:
        y: Labels (rows,), 0 or 1.
        score: Scores (rows,) float64, higher for 1; infinities are allowed.

    Raises:
        ValueError: If a score is NaN, a label is neither 0 nor 1, one label doesn't occur, or the
            shapes differ.
    """
    if y.shape != score.shape or y.ndim != 1:
        raise ValueError(f"labels and scores must be vectors alike, not {y.shape}, {score.shape}")
    positives = int(np.count_nonzero(y))
    negatives = len(y) - positives
    if positives == 0 or negatives == 0:
        raise ValueError("AUC needs rows of both labels")
    if np.count_nonzero(y == 1) != positives:
        raise ValueError("labels must be 0 or 1")
    order = np.argsort(score)
    ranked = score[order]
    # NaN sorts last.
    if np.isnan(ranked[-1]):
        raise ValueError("a score is NaN")
    starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1])))
    tied_positives = np.add.reduceat(y[order], starts, dtype=np.int64)
    tied_negatives = np.diff(starts, append=len(y)) - tied_positives
    below = np.cumsum(tied_negatives) - tied_negatives
    halves = int(tied_positives @ (2 * below + tied_negatives))
    return halves / (2 * positives * negatives)
