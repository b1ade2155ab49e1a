"""F1, precision and recall as plain shares: of the rows that count for them, those that are right.

A row is a true positive (TP), a false one (FP), a false negative (FN) or a true one (TN). F1 > c is
E[Z] > 0 for Z = 2 - 2c at TP, -c at FP and FN and 0 at TN. Rows with Z = 0 say nothing; of the
others TP are a binomial share J = TP/(TP + FP + FN), however many others there are, and F1 =
2J/(1 + J) grows with J. So F1 needs no approximation and no variance: it is tested as J, exactly,
on the rows that aren't TN. Precision is the share of TP among predicted positives, recall among
positives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from numpy.typing import NDArray

Number = TypeVar("Number", float, Fraction)


@dataclass(frozen=True)
class Counts:
    """Rows by what a model made of them, for one class against the others."""

    tp: int
    fp: int
    fn: int
    tn: int


@dataclass(frozen=True)
class Share:
    """``right`` of the ``rows`` that count."""

    right: int
    rows: int


def counts(labels: NDArray[Any], predictions: NDArray[Any], positive: Any) -> Counts:
    """Rows by outcome, for the class ``positive``."""
    truly, said = labels == positive, predictions == positive
    tp, positives, claimed = int((truly & said).sum()), int(truly.sum()), int(said.sum())
    return Counts(tp, claimed - tp, positives - tp, len(labels) - positives - claimed + tp)


SHARES: Mapping[str, Callable[[Counts], Share]] = {
    "f1": lambda c: Share(c.tp, c.tp + c.fp + c.fn),
    "precision": lambda c: Share(c.tp, c.tp + c.fp),
    "recall": lambda c: Share(c.tp, c.tp + c.fn),
}
"""The share that stands for a metric."""


def marks(
    metric: str, labels: NDArray[Any], predictions: NDArray[Any], positive: Any
) -> NDArray[Any]:
    """The rows that count, in their order: True where they are right."""
    right = (labels == positive) & (predictions == positive)
    found: NDArray[Any] = right[counting(metric, labels, predictions, positive)]
    return found


def counting(
    metric: str, labels: NDArray[Any], predictions: NDArray[Any], positive: Any
) -> NDArray[Any]:
    """Whether a row counts for a metric (n,)."""
    truly, said = labels == positive, predictions == positive
    found: NDArray[Any] = {"f1": truly | said, "precision": said, "recall": truly}[metric]
    return found


def to_metric(metric: str, share: Number) -> Number:
    """The metric at a share: 2J/(1 + J) for F1, the share itself for the others."""
    return 2 * share / (1 + share) if metric == "f1" else share


def to_share(metric: str, value: float) -> float:
    """The share at a metric's value: F/(2 - F) for F1."""
    return value / (2 - value) if metric == "f1" else value


def share_width(metric: str, half_width: float, limit: float | None = None) -> float:
    """How well the share must be known for the metric to be known to ``half_width``.

    Args:
        limit: The value that the metric is compared with, where it is compared alone; the width
            is then the smaller of those to both sides of it. None: wherever the metric is.
    """
    if metric != "f1":
        return half_width
    if limit is None or not 0 <= limit <= 1:
        # The share grows slowest at 0.
        return to_share(metric, min(half_width, 1.0))
    # The share is convex in F1, so the lower side is the smaller, if 0 doesn't end it.
    below = limit - half_width
    if below >= 0:
        return to_share(metric, limit) - to_share(metric, below)
    above = limit + half_width
    # Beyond both ends nothing can be estimated, so any number of rows is enough.
    return 1.0 if above > 1 else to_share(metric, above) - to_share(metric, limit)
