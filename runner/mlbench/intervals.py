"""Intervals that say how far a mean or a slope can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
RESAMPLES = 10_000


@dataclass(frozen=True)
class Estimate:
    """A number and its interval.

    Attributes:
        low: None, as is ``high``, where there are too few cases for an interval.
        cases: What it rests on, tasks or folds.
    """

    value: float
    low: float | None
    high: float | None
    cases: int

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval is on one side of zero."""
        return self.low is not None and self.high is not None and self.low * self.high > 0


def bootstrap(
    statistic: Callable[[NDArray[np.int64]], NDArray[np.float64]],
    cases: int,
    *,
    seed: int,
    level: float = LEVEL,
) -> Estimate:
    """A statistic and its percentile interval over resampled cases (Efron 1979).

    It takes the cases as independent draws. For a handful of them it is too narrow (for a mean of
    six values by 30 % against Student's): a look at the scatter, not a proof.

    Args:
        statistic: From indices of cases (resamples, cases) to values (resamples,); NaN where a
            resample doesn't determine it.
        cases: How many there are.
        seed: Of the resampling.
        level: What the interval is to hold.
    """
    every = np.arange(cases)[None, :]
    value = _rounded(statistic(every)[0])
    if cases < 3:
        return Estimate(value, None, None, cases)
    drawn = np.random.default_rng(seed).integers(cases, size=(RESAMPLES, cases))
    found = statistic(drawn)
    found = found[np.isfinite(found)]
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(found, [tail, 100 - tail])
    return Estimate(value, _rounded(low), _rounded(high), cases)


def mean(values: Sequence[float], *, seed: int, level: float = LEVEL) -> Estimate:
    """The mean of some values, with its bootstrap interval.

    Raises:
        ValueError: There is no value.
    """
    if not values:
        raise ValueError("a mean needs a value")
    array = np.asarray(values, dtype=np.float64)
    return bootstrap(lambda drawn: array[drawn].mean(axis=1), len(array), seed=seed, level=level)


def slope(x: Sequence[float], y: Sequence[float], *, seed: int, level: float = LEVEL) -> Estimate:
    """The slope of the least-squares line through some points, with its bootstrap interval.

    Raises:
        ValueError: There are fewer than two different places.
    """
    if len(set(x)) < 2:
        raise ValueError("a slope needs two different places")
    across, up = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)

    def fitted(drawn: NDArray[np.int64]) -> NDArray[np.float64]:
        centred = across[drawn] - across[drawn].mean(axis=1, keepdims=True)
        spread = (centred**2).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            # Resamples of one place alone have no slope.
            return np.asarray(
                np.where(spread > 0, (centred * up[drawn]).sum(axis=1) / spread, np.nan)
            )

    return bootstrap(fitted, len(across), seed=seed, level=level)


def _rounded(value: float) -> float:
    # Sums of decimals that cancel on paper leave 1e-18, which isn't above zero.
    return round(float(value), 12)
