"""Evidence about a bounded mean that may be looked at after every row: betting (time-uniform).

A gambler who bets on rows against "the mean is at most m" can't expect to gain while that is true,
so the capital exceeds 1/alpha at any time with probability alpha at most (Ville's inequality). Each
gambler here stakes a fixed share of the largest stake that can't go broke, and the capital is split
among gamblers of many shares beforehand, which needs no guess of the effect or the variance.

Source: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024;
fixed bets mixed in their sense of section 5. All capital is as a logarithm.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST, _GREATEST, _GAMBLERS = 0.003, 0.9, 24


def stakes() -> NDArray[Any]:
    """Shares of the largest stake, from effects of a tenth of a hundredth up to overwhelming."""
    import numpy as np

    return np.geomspace(_LEAST, _GREATEST, _GAMBLERS)


def ln_capital(x: NDArray[Any], mean: float) -> NDArray[Any]:
    """ln of the capital after each row of a bet that the mean is above ``mean``.

    Valid against every mean up to ``mean``. For the bet that it is below, give 1 - x and 1 - mean.

    Args:
        x: Rows (n,) in [0, 1], in an order that doesn't depend on them.
        mean: In (0, 1); at 0 any row above it would decide, and from 1 on none can.
    """
    import numpy as np

    rows = np.asarray(x, dtype=float)
    total = np.full(len(rows), -np.inf)
    for stake in stakes():
        np.logaddexp(total, np.cumsum(np.log1p(stake * (rows / mean - 1))), out=total)
    return total - math.log(_GAMBLERS)


def ln_capital_of_counts(values: NDArray[Any], counts: NDArray[Any], mean: float) -> float:
    """As the last of :func:`ln_capital`, from how often each value occurs.

    Args:
        values: (k,) in [0, 1].
        counts: (k,), rows of each.
    """
    import numpy as np

    gains = ln_gains(values, counts, mean)
    most = float(gains.max())
    return most + math.log(float(np.mean(np.exp(gains - most))))


def ln_gains(values: NDArray[Any], counts: NDArray[Any], mean: float) -> NDArray[Any]:
    """What each gambler's capital is multiplied by, as a logarithm (gamblers,)."""
    import numpy as np

    odds = np.asarray(values, dtype=float) / mean - 1
    gains: NDArray[Any] = np.log1p(stakes()[:, None] * odds) @ np.asarray(counts, dtype=float)
    return gains


def confidence_interval(x: NDArray[Any], ln_inverse_alpha: float) -> tuple[float, float]:
    """The means that no bet has refuted after the last row; valid at all times at once.

    Half of alpha for each side. The capital falls as the mean that is bet against grows, so the
    means that remain are an interval. It always holds the average.

    Args:
        x: Rows (n,) in [0, 1].
    """
    import numpy as np

    values, counts = np.unique(np.asarray(x, dtype=float), return_counts=True)
    limit = ln_inverse_alpha + math.log(2)
    lower = _lower(values, counts, limit)
    return lower, 1 - _lower(1 - values, counts, limit)


def _lower(values: NDArray[Any], counts: NDArray[Any], limit: float) -> float:
    """The least mean that the bet on a greater one hasn't refuted."""
    average = float(values @ counts / counts.sum())
    refuted, left = 0.0, average
    while left - refuted > 1e-12 * max(left, 1e-3):
        middle = (refuted + left) / 2
        if ln_capital_of_counts(values, counts, middle) >= limit:
            refuted = middle
        else:
            left = middle
    return refuted


def bernoulli_interval(successes: int, rows: int, ln_inverse_alpha: float) -> tuple[float, float]:
    """Limits of a share that hold at all times at once: the mixture of Robbins.

    The shares p at which B(1 + s, 1 + n - s) / (p^s (1-p)^(n-s)), a martingale under p, is below
    1/alpha (Robbins 1970; Howard et al. 2021, section 3.2).

    Args:
        successes: s of n ``rows``; no row, no limits.
    """
    if not rows:
        return 0.0, 1.0
    ln_mixture = (
        math.lgamma(successes + 1) + math.lgamma(rows - successes + 1) - math.lgamma(rows + 2)
    )
    least = ln_mixture - ln_inverse_alpha
    share = successes / rows
    lower = _edge(successes, rows, least, 0.0, share)
    upper = _edge(successes, rows, least, 1.0, share)
    return lower, upper


def _edge(successes: int, rows: int, least: float, outside: float, inside: float) -> float:
    """Where between an end and the observed share the likelihood falls to ``least``."""
    if _ln_likelihood(successes, rows, outside) > least:
        return outside
    while abs(inside - outside) > 1e-13:
        middle = (outside + inside) / 2
        if _ln_likelihood(successes, rows, middle) > least:
            inside = middle
        else:
            outside = middle
    return outside


def _ln_likelihood(successes: int, rows: int, p: float) -> float:
    if (p <= 0 and successes) or (p >= 1 and successes < rows):
        return -math.inf
    first = successes * math.log(p) if successes else 0.0
    return first + ((rows - successes) * math.log1p(-p) if successes < rows else 0.0)
