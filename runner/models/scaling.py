"""Standardised and min-max scaled columns, for every scale and offset that float64 holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

FARTHEST = 1e100
"""Bound of a scaled value, in spans of the training rows: keeps products of it finite."""


@dataclass(frozen=True)
class Range:
    """Each column's least value becomes 0 and its greatest 1; constant columns become 0.

    Attributes:
        half: .5 where the span itself would overflow, else 1; (columns,), as all here.
        low: The least value, halved alike.
        span: The greatest less the least value, halved alike; 1 for a constant column.
        constant: Whether the column is constant.
    """

    half: np.ndarray
    low: np.ndarray
    span: np.ndarray
    constant: np.ndarray

    @classmethod
    def learn(cls, X: np.ndarray) -> Self:
        """From training rows X (rows, columns), finite float64."""
        low, high = X.min(axis=0), X.max(axis=0)
        with np.errstate(over="ignore"):
            half = np.where(np.isinf(high - low), 0.5, 1.0)
        low, high = low * half, high * half
        constant = high == low
        return cls(half, low, np.where(constant, 1.0, high - low), constant)

    def apply(self, X: np.ndarray, farthest: float = FARTHEST) -> np.ndarray:
        """X (rows, columns) scaled, C-contiguous, and bounded by ``farthest`` on either side."""
        scaled: np.ndarray = X * self.half
        with np.errstate(over="ignore"):
            scaled -= self.low
            scaled /= self.span
        np.clip(scaled, -farthest, farthest, out=scaled)
        scaled[:, self.constant] = 0.0
        return scaled


@dataclass(frozen=True)
class Scaling:
    """Each column's mean becomes 0 and its standard deviation (of the population) 1.

    Columns are first mapped onto [0, 1], so that neither squares nor sums of values near the
    ends of the floating-point range are formed. Constant columns become 0 everywhere.

    Attributes:
        range: Maps onto [0, 1].
        mean: Of the mapped column; (columns,), as all here.
        weight: One over the mapped column's standard deviation; 0 for a constant column.
    """

    range: Range
    mean: np.ndarray
    weight: np.ndarray

    @classmethod
    def learn(cls, X: np.ndarray) -> Self:
        """From training rows X (rows, columns), finite float64."""
        span = Range.learn(X)
        unit = span.apply(X)
        deviation = np.where(span.constant, 1.0, unit.std(axis=0))
        weight = np.where(span.constant, 0.0, 1.0 / deviation)
        return cls(span, unit.mean(axis=0), weight)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """X (rows, columns) scaled, C-contiguous."""
        scaled = self.range.apply(X)
        scaled -= self.mean
        scaled *= self.weight
        return scaled
