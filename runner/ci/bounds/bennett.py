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


def half_width(rows: int, second_moment: float, ln_inverse_delta: float) -> float:
    """The tolerance that so many rows keep: :func:`samples` the other way round, from above."""
    # Bernstein's weaker inequality has this root, so the tolerance is at most that.
    rate = ln_inverse_delta / rows
    least, enough = 0.0, rate / 3 + math.sqrt(rate * rate / 9 + 2 * second_moment * rate)
    while enough - least > 1e-12 * enough:
        middle = (least + enough) / 2
        if second_moment * h(middle / second_moment) >= rate:
            enough = middle
        else:
            least = middle
    return enough
