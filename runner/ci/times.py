"""Whether one model trains slower than another, from pairs of times on the same data.

A time is noisy and skewed: between the least and the greatest of one fit lies a factor of 1.2 to 4
(docs/timing.md), and neither is normal. So pairs are compared by their ratio, and the median
ratio's limits are two of the ratios themselves, whatever their distribution: of n pairs the number
above the median is binomial(n, 1/2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from runner.errors import CannotRunError


@dataclass(frozen=True)
class Slowdown:
    """How many times longer the new model trains.

    Attributes:
        median: Of the pairs' ratios.
        low: Below the true median with confidence 1 - delta.
        high: Likewise above.
    """

    median: float
    low: float
    high: float
    pairs: int


def slowdown(new: Sequence[float], old: Sequence[float], delta: float) -> Slowdown:
    """Limits of the median ratio of paired times, one-sided each.

    Args:
        new: Seconds (n,).
        old: Likewise, of the same data each.

    Raises:
        CannotRunError: If the pairs are too few for any limit.
    """
    ratios = sorted(after / before for after, before in zip(new, old, strict=True))
    n = len(ratios)
    rank = order_statistic(n, delta)
    if rank is None:
        needed = math.ceil(math.log2(1 / delta))
        raise CannotRunError(
            f"{n:,} pairs of times are too few for a limit at {1 - delta:g}: it takes {needed:,}, "
            "by more folds, tasks or `repeats`"
        )
    middle = (ratios[(n - 1) // 2] + ratios[n // 2]) / 2
    return Slowdown(middle, ratios[rank], ratios[n - 1 - rank], n)


def order_statistic(n: int, delta: float) -> int | None:
    """The greatest index, from 0, of a sorted sample whose value is below the median, surely.

    It is above the median with probability P(Bin(n, 1/2) <= index), at most delta. None where
    even the least isn't.
    """
    total, found = 0.0, None
    for index in range(n):
        total += math.exp(
            math.lgamma(n + 1)
            - math.lgamma(index + 1)
            - math.lgamma(n - index + 1)
            - n * math.log(2)
        )
        if total > delta:
            return found
        found = index
    return found
