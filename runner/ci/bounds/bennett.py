"""Bennett's inequality (1962), for rows with a small second moment (the paper's proposition 1)."""

from __future__ import annotations

import math


def h(u: float) -> float:
    """(1 + u) ln(1 + u) - u."""
    if u < 1e-4:
        # The difference would lose half the digits; this is its series.
        return u * u / 2 * (1 - u / 3 + u * u / 6)
    return (1 + u) * math.log1p(u) - u


def samples(tolerance: float, second_moment: float, ln_inverse_delta: float) -> float:
    """Rows after which a mean is ``tolerance`` off with probability delta, on one side.

    From Pr <= exp(-n p h(tolerance / p)); for both sides add ln 2 to ``ln_inverse_delta``.

    Args:
        second_moment: A bound on E[X^2] of a row X that is at most 1 in size (p). For the
            difference of two models' correctness the share of rows on which they differ bounds it.
    """
    return ln_inverse_delta / (second_moment * h(tolerance / second_moment))
