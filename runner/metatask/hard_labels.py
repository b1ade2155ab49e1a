"""The area under the ROC curve of predicted classes, as Assembled-OpenML scores them."""

from __future__ import annotations

import numpy as np


def hard_auc(y: np.ndarray, predictions: np.ndarray, classes: int) -> float:
    """AUROC of hard predictions: of each class against all others, weighted by its frequency.

    A predicted class is a confidence of 1, so the curve has one corner and the area needs no
    sorting: it is the mean of the true positive and the true negative rate. Two classes have one
    curve.

    Args:
        y: (rows,) the true classes, counted from 0.
        predictions: (rows,) the predicted ones.
        classes: How many there are.

    Raises:
        ValueError: If ``y`` holds fewer than two classes.
    """
    pairs = np.bincount(
        y.astype(np.int64) * classes + predictions.astype(np.int64), minlength=classes * classes
    ).reshape(classes, classes)
    positives = pairs.sum(axis=1)
    right = np.diagonal(pairs)
    negatives = len(y) - positives
    rejected = negatives - (pairs.sum(axis=0) - right)
    if np.count_nonzero(positives) < 2:
        raise ValueError("AUROC needs rows of two classes")
    # Twice the pairs of a positive and a negative row in the right order, ties once.
    halves = right * negatives + rejected * positives
    if classes == 2:
        return int(halves[1]) / (2 * int(positives[1]) * int(negatives[1]))
    total = 0.0
    for one in np.flatnonzero(positives):
        total += int(halves[one]) / (2 * int(negatives[one]))
    return total / len(y)
