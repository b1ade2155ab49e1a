"""Hoeffding's inequality (1963, theorem 2), one-sided, as the paper's section 3 uses it."""

from __future__ import annotations


def samples(half_width: float, ln_inverse_delta: float, span: float = 1.0) -> float:
    """Rows after which a mean exceeds its expectation by ``half_width`` with probability delta.

    Args:
        span: Between the least and the greatest value of one row (the paper's r).
    """
    return (span / half_width) ** 2 * ln_inverse_delta / 2


def half_width(rows: int, ln_inverse_delta: float, span: float = 1.0) -> float:
    """How far above its expectation a mean over so many rows is with probability delta."""
    return float(span * (ln_inverse_delta / (2 * rows)) ** 0.5)
