"""AUC of one model and of two on the same rows, with the share of pairs that they order apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.ci.bounds import auc as bound
from runner.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class PairedAuc:
    """Two models' AUC on the same rows.

    Attributes:
        reordered: The share of (positive, negative) pairs on which one model is right, tied or
            wrong and the other is something else of these.
        half_width: Of ``new - old``, for both sides together.
    """

    new: float
    old: float
    reordered: float
    positives: int
    negatives: int
    half_width: float

    @property
    def difference(self) -> float:
        """new - old."""
        return self.new - self.old


def class_sizes(truly: NDArray[Any]) -> tuple[int, int]:
    """Positives and negatives.

    Raises:
        InputError: If one of them is missing.
    """
    positives = int(truly.sum())
    negatives = len(truly) - positives
    if not positives or not negatives:
        raise InputError("an AUC takes rows of the positive class and of others")
    return positives, negatives


def paired_auc(
    truly: NDArray[Any], new: NDArray[Any], old: NDArray[Any], ln_inverse_delta: float
) -> PairedAuc:
    """Compare two models' AUC.

    Args:
        truly: Whether a row is positive (n,).
        new: Scores (n,), higher for positive rows.
        old: Likewise, of the same rows.
        ln_inverse_delta: ln(1/delta) of the interval.

    Raises:
        InputError: If a class is missing.
    """
    from runner.metrics import auc

    positives, negatives = class_sizes(truly)
    reordered = share_reordered(truly, new, old)
    labels = truly.astype(int)
    return PairedAuc(
        auc(labels, new),
        auc(labels, old),
        reordered,
        positives,
        negatives,
        bound.paired_half_width(positives, negatives, reordered, ln_inverse_delta),
    )


def share_reordered(truly: NDArray[Any], new: NDArray[Any], old: NDArray[Any]) -> float:
    """The share of (positive, negative) pairs whose order differs between two models.

    Takes time in proportion to the pairs, about a second for 10^9.
    """
    import numpy as np

    new_below, old_below = new[~truly], old[~truly]
    apart = 0
    for first, second in zip(new[truly], old[truly], strict=True):
        above = (first > new_below) != (second > old_below)
        under = (first < new_below) != (second < old_below)
        apart += int(np.count_nonzero(above | under))
    return apart / (int(truly.sum()) * len(new_below))
