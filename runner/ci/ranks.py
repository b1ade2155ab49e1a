"""Where a model stands among earlier ones: limits of its rank, from paired comparisons.

Each earlier model is compared with the new one on the rows on which just one of them is right. If
they were equally good, either would be the right one there with probability 1/2, so the number of
such rows that the new model wins is binomial (McNemar's exact test): whichever bound its tail falls
below is certain. A rank is at least 1 + the models that are certainly better, and at most 1 + those
that aren't certainly worse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.ci.bounds.binomial import ln_upper_tail

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Rank:
    """Limits of a rank; 1 is the best.

    Attributes:
        low: 1 + the earlier models that are certainly better.
        high: 1 + those that aren't certainly worse.
        estimate: 1 + those that are better on these rows.
    """

    low: int
    high: int
    estimate: int


def rank(new: NDArray[Any], earlier: NDArray[Any], ln_inverse_delta: float) -> Rank:
    """Limits of a new model's rank by accuracy.

    Either limit is wrong with probability delta at most, for any number of models up to that whose
    logarithm ``ln_inverse_delta`` has been given besides.

    Args:
        new: Whether the model is right, a row (n,).
        earlier: Likewise of earlier models (models, n).
        ln_inverse_delta: ln(models/delta): what one comparison may err.
    """
    low = high = estimate = 1
    for other in earlier:
        won, lost = int((new & ~other).sum()), int((other & ~new).sum())
        better = certainly_more(lost, won, ln_inverse_delta)
        worse = certainly_more(won, lost, ln_inverse_delta)
        low += better
        high += not worse
        estimate += lost > won
    return Rank(low, high, estimate)


def certainly_more(first: int, second: int, ln_inverse_delta: float) -> bool:
    """Whether ``first`` of first + second fair coins come out with probability delta at most."""
    if first <= second:
        return False
    if not second:
        return first * math.log(2) >= ln_inverse_delta
    return ln_upper_tail(first + second, first, 0.5) <= -ln_inverse_delta
