"""Scores of predictions, exact and fast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from runner.errors import suggestion

Score = Callable[[np.ndarray, np.ndarray, np.ndarray], float]
"""Of true classes (rows,), predicted ones (rows,) and confidences (rows, classes)."""


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
    return _halves(y, score) / (2 * positives * negatives)


def _halves(y: np.ndarray, score: np.ndarray) -> int:
    """Twice the pairs that are ordered right, and once the tied ones."""
    order = np.argsort(score)
    ranked = score[order]
    # NaN sorts last.
    if np.isnan(ranked[-1]):
        raise ValueError("a score is NaN")
    starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1])))
    tied_positives = np.add.reduceat(y[order], starts, dtype=np.int64)
    tied_negatives = np.diff(starts, append=len(y)) - tied_positives
    below = np.cumsum(tied_negatives) - tied_negatives
    return int(tied_positives @ (2 * below + tied_negatives))


def weighted_auc(y: np.ndarray, confidences: np.ndarray) -> float:
    """The mean of each class's AUC against all others, weighted by how frequent it is.

    Two classes mirror each other, and the second one's AUC is the mean. A class without rows has
    weight 0. As scikit-learn's ``roc_auc_score`` of binarised labels with ``average="weighted"``.

    Args:
        y: (rows,), classes counted from 0.
        confidences: (rows, classes).

    Raises:
        ValueError: If ``auc`` would, of any class.
    """
    counts = np.bincount(y, minlength=confidences.shape[1])
    if len(counts) == 2:
        return auc(y, confidences[:, 1])
    present = np.flatnonzero(counts)
    if len(present) < 2:
        raise ValueError("AUC needs rows of two classes")
    total = 0.0
    for one in present:
        # The class's share cancels one of the two numbers that its pairs are divided by.
        total += _halves((y == one).astype(np.int64), confidences[:, one]) / (
            2 * (len(y) - int(counts[one]))
        )
    return total / len(y)


def hard_auc(y: np.ndarray, predictions: np.ndarray, classes: int) -> float:
    """The weighted AUC of predicted classes: a confidence of 1 for each, 0 for the others.

    Such a curve has one corner, so the pairs of a class are counted from its right and rejected
    rows, without sorting. Equal to ``weighted_auc`` of ``one_hot``, to the last bit.

    Args:
        y: (rows,), classes counted from 0.
        predictions: (rows,), likewise.
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
        raise ValueError("AUC needs rows of two classes")
    # As ``_halves`` counts them.
    halves = right * negatives + rejected * positives
    if classes == 2:
        return int(halves[1]) / (2 * int(positives[1]) * int(negatives[1]))
    total = 0.0
    for one in np.flatnonzero(positives):
        total += int(halves[one]) / (2 * int(negatives[one]))
    return total / len(y)


def balanced_accuracy(y: np.ndarray, predictions: np.ndarray) -> float:
    """The mean over the classes that have rows of the share of them that are predicted right."""
    counts = np.bincount(y)
    right = np.bincount(y[y == predictions], minlength=len(counts))
    present = counts > 0
    return float(np.mean(right[present] / counts[present]))


def log_loss(y: np.ndarray, confidences: np.ndarray) -> float:
    """The mean over the rows of minus the logarithm of the true class's confidence.

    Confidences are kept off 0 and 1 by the spacing of numbers at 1, as scikit-learn does.
    """
    epsilon = float(np.finfo(confidences.dtype).eps)
    true = confidences[np.arange(len(y)), y]
    return float(-np.mean(np.log(np.clip(true, epsilon, 1 - epsilon))))


@dataclass(frozen=True)
class Metric:
    """A measure of predictions of classes; higher is better.

    Attributes:
        name: In study files and results.
        needs_confidences: Whether it reads them; else the predicted classes alone.
        score: The measure.
    """

    name: str
    needs_confidences: bool
    score: Score


METRICS = {
    metric.name: metric
    for metric in (
        Metric("auc", True, lambda y, predictions, confidences: weighted_auc(y, confidences)),
        Metric(
            "hard_auc",
            False,
            lambda y, predictions, confidences: hard_auc(y, predictions, confidences.shape[1]),
        ),
        Metric(
            "accuracy",
            False,
            lambda y, predictions, confidences: float(np.mean(y == predictions)),
        ),
        Metric(
            "balanced_accuracy",
            False,
            lambda y, predictions, confidences: balanced_accuracy(y, predictions),
        ),
        Metric("neg_log_loss", True, lambda y, predictions, confidences: -log_loss(y, confidences)),
    )
}
"""By name: the names are scikit-learn's where it has one."""


def named(name: str) -> Metric:
    """The metric of a name.

    Raises:
        ValueError: There is none.
    """
    if name not in METRICS:
        raise ValueError(f"there is no metric {name!r}: {suggestion(name, METRICS)}")
    return METRICS[name]


def one_hot(predictions: np.ndarray, classes: int) -> np.ndarray:
    """Confidences (rows, classes) float64 that are 1 for the predicted class."""
    rows: np.ndarray = np.eye(classes)[predictions]
    return rows
