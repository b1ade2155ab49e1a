"""Chernoff's bound for a mean of rows in [0, 1], tight near 0 and 1 (Hoeffding 1963, (2.1)).

Pr[mean >= a] <= exp(-n KL(a, p)) for expectation p <= a, KL being the divergence of two coins. It
needs no variance: near an end it is as good as Bennett's inequality with the true one.
"""

from __future__ import annotations

import math


def divergence(a: float, p: float) -> float:
    """a ln(a/p) + (1-a) ln((1-a)/(1-p)): of coins with shares a and p."""
    first = 0.0 if a <= 0 else math.inf if p <= 0 else a * math.log(a / p)
    second = 0.0 if a >= 1 else math.inf if p >= 1 else (1 - a) * math.log((1 - a) / (1 - p))
    return first + second


def samples(limit: float, tolerance: float, ln_inverse_delta: float) -> float:
    """Rows after which a mean lies ``tolerance`` beyond a limit that its expectation keeps.

    One-sided, for the worse of the two sides; a side that no mean can reach doesn't count.

    Args:
        limit: In [0, 1].
    """
    sides = [limit + side for side in (-tolerance, tolerance)]
    rates = [divergence(side, limit) for side in sides if 0 <= side <= 1]
    least = min(rates, default=math.inf)
    return ln_inverse_delta / least if least > 0 else math.inf


def upper_limit(mean: float, rows: int, ln_inverse_delta: float) -> float:
    """The greatest expectation that a mean of so many rows in [0, 1] leaves possible."""
    possible, refuted = mean, 1.0
    while refuted - possible > 1e-12:
        middle = (possible + refuted) / 2
        if rows * divergence(mean, middle) <= ln_inverse_delta:
            possible = middle
        else:
            refuted = middle
    return refuted
