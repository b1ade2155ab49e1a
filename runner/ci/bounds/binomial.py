"""The exact number of rows for a share of rows: no inequality, the binomial distribution itself.

Langford (2005) has the idea. The sup over the unknown share p is reached where p comes up to
k/n - eps from below, for some count k. As a function of n the probability has teeth, so what is
looked for is not the first n that is enough but the last that isn't, plus one.
"""

from __future__ import annotations

import math
from functools import cache

from runner.ci.bounds import hoeffding

MOST_ROWS = 10**8
"""Beyond so many the digits of a double don't tell n from n + 1."""


@cache
def samples(half_width: float, ln_inverse_delta: float) -> int | None:
    """Rows from which on a share exceeds its expectation by ``half_width`` with probability delta.

    Exact, one-sided, for the worst share; all larger numbers of rows are enough too. None where
    it is above :data:`MOST_ROWS`.

    Args:
        half_width: In (0, 1).
    """
    enough = math.ceil(hoeffding.samples(half_width, ln_inverse_delta))
    if enough > MOST_ROWS:
        return None
    # With real counts k the worst probability falls smoothly with n and is never below the exact
    # one, so from the n that this finds on all are enough.
    enough = _smallest(enough, half_width, ln_inverse_delta)
    while enough > 1 and worst_ln_tail_exact(enough - 1, half_width) <= -ln_inverse_delta:
        enough -= 1
    return enough


def worst_ln_tail(n: int, half_width: float) -> float:
    """ln of the worst probability, with counts k taken as real numbers."""
    low, high = n * half_width, float(n)
    if low >= high:
        return -math.inf
    for _ in range(80):
        third = (high - low) / 3
        if _ln_tail_at(n, low + third, half_width) < _ln_tail_at(n, high - third, half_width):
            low += third
        else:
            high -= third
        # The top is flat: so near to it the logarithm is right to 12 digits.
        if high - low < n * 1e-7:
            break
    return _ln_tail_at(n, (low + high) / 2, half_width)


def worst_ln_tail_exact(n: int, half_width: float) -> float:
    """ln of the largest over whole k of P(Bin(n, k/n - half_width) >= k)."""
    low, high = math.floor(n * half_width) + 1, n
    if low > high:
        return -math.inf
    while high - low > 2:
        third = (high - low) // 3
        if _ln_tail_at(n, low + third, half_width) < _ln_tail_at(n, high - third, half_width):
            low += third
        else:
            high -= third
    return max(_ln_tail_at(n, k, half_width) for k in range(low, high + 1))


def _smallest(enough: int, half_width: float, ln_inverse_delta: float) -> int:
    """The smallest n whose worst probability over real counts is small enough."""
    low, guess = 0, enough
    while enough - low > 1:
        ln_tail = worst_ln_tail(guess, half_width)
        if ln_tail <= -ln_inverse_delta:
            enough = guess
        else:
            low = guess
        # The logarithm is nearly proportional to n, so its ratio is a good next guess; a step
        # beyond it, it closes the bracket from the other side.
        guess = round(guess * ln_inverse_delta / -ln_tail) if math.isfinite(ln_tail) else 0
        step = max(1, guess >> 20)
        guess += step if guess <= low else -step if guess >= enough else 0
        if not low < guess < enough:
            guess = (low + enough) // 2
    return enough


def samples_two_sided(half_width: float, ln_inverse_delta: float) -> int:
    """As :func:`samples`, for a share that is ``half_width`` off on either side.

    Takes time that grows with the square of the answer: for tables, not for plans.
    """
    enough = math.ceil(hoeffding.samples(half_width, ln_inverse_delta + math.log(2)))
    while enough > 1 and _worst_two_sided(enough - 1, half_width) <= math.exp(-ln_inverse_delta):
        enough -= 1
    return enough


def _worst_two_sided(n: int, half_width: float) -> float:
    # Between two jumps of the set of bad counts the probability first falls, then rises with p, so
    # it is worst at a jump; those where the lower tail jumps mirror these.
    worst = 0.0
    for k in range(math.floor(n * half_width) + 1, n + 1):
        p = k / n - half_width
        below = math.ceil(k - 2 * n * half_width - 1e-9) - 1
        lower = math.exp(ln_upper_tail(n, n - below, 1 - p)) if below >= 0 else 0.0
        worst = max(worst, math.exp(ln_upper_tail(n, k, p)) + lower)
    return worst


def _ln_tail_at(n: int, k: float, half_width: float) -> float:
    return ln_upper_tail(n, k, k / n - half_width)


def ln_upper_tail(n: int, k: float, p: float) -> float:
    """ln P(Bin(n, p) >= k) for k above n p: the incomplete beta I_p(k, n - k + 1), as a logarithm.

    Args:
        k: In (0, n]; between whole numbers the beta function's continuation.
    """
    if p <= 0:
        return -math.inf
    if k >= n:
        return n * math.log(p)
    a, b = k, n - k + 1
    return _ln_mass(n, k, p) + math.log1p(-p) + math.log(_fraction(a, b, p))


def _ln_mass(n: int, k: float, p: float) -> float:
    """ln of C(n, k) p^k (1-p)^(n-k), as Loader (2000) has it: no large numbers cancel."""
    q = k / n
    divergence = k * math.log(q / p) + (n - k) * (math.log1p(-q) - math.log1p(-p))
    stirling = _stirling(n) - _stirling(k) - _stirling(n - k)
    return stirling - divergence - math.log(2 * math.pi * n * q * (1 - q)) / 2


def _stirling(x: float) -> float:
    """ln x! less Stirling's formula for it."""
    if x < 16:
        return math.lgamma(x + 1) - (x + 0.5) * math.log(x) + x - math.log(2 * math.pi) / 2
    square = x * x
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / x


def _fraction(a: float, b: float, x: float) -> float:
    """The incomplete beta's continued fraction (Abramowitz and Stegun 26.5.8), times a's factor.

    Evaluated by the modified method of Lentz; it converges fast for x below a/(a + b).
    """
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1)
    d = 1.0 / (d or tiny)
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1.0 / (1.0 + even * d or tiny)
        c = 1.0 + even / c or tiny
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1.0 / (1.0 + odd * d or tiny)
        c = 1.0 + odd / c or tiny
        value *= d * c
        if abs(d * c - 1.0) < 1e-13:
            break
    return value
