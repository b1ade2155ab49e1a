"""Time-uniform bounds, against another library, printed widths and their own promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ville import BernoulliCS, BettingCS

from runner.ci.betting import (
    bernoulli_interval,
    confidence_interval,
    ln_capital,
    ln_capital_of_counts,
)

LN_20 = math.log(20)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.9, 1.0])
def test_bernoulli_limits_are_villes(share: float) -> None:
    x = (np.random.default_rng(1).random(400) < share).astype(float)
    oracle = BernoulliCS(alpha=0.05, intersect=False).fit(x)
    for rows in (1, 7, 100, 400):
        found = bernoulli_interval(int(x[:rows].sum()), rows, LN_20)
        expected = (oracle.lower_[rows - 1], oracle.upper_[rows - 1])
        assert found == pytest.approx(expected, abs=1e-9)
    assert bernoulli_interval(0, 0, LN_20) == (0, 1)


@pytest.mark.parametrize(
    ("rows", "share", "half_width"),
    [(1000, 0.9, 0.0348), (5000, 0.9, 0.0165), (5000, 0.98, 0.0081), (20_000, 0.9, 0.0086)],
)
def test_half_widths_of_the_mixture(rows: int, share: float, half_width: float) -> None:
    low, high = bernoulli_interval(round(rows * share), rows, LN_20)
    assert (high - low) / 2 == pytest.approx(half_width, abs=1.5e-4)


@pytest.mark.parametrize("mean", [0.1, 0.5, 0.93])
def test_a_bet_interval_is_about_as_wide_as_villes(mean: float) -> None:
    x = np.random.default_rng(2).beta(5 * mean, 5 * (1 - mean), 2000)
    oracle = BettingCS(alpha=0.05, intersect=False, grid=4000).fit(x)
    for rows in (100, 2000):
        low, high = confidence_interval(x[:rows], LN_20)
        assert low < x[:rows].mean() < high
        theirs = oracle.upper_[rows - 1] - oracle.lower_[rows - 1]
        assert 0.6 < (high - low) / theirs < 1.25
        # Neither lies where the other refutes all of it.
        assert low < oracle.upper_[rows - 1]
        assert high > oracle.lower_[rows - 1]


def test_capital_by_counts_is_capital_by_rows() -> None:
    x = np.random.default_rng(3).choice([0.0, 0.5, 1.0], 300, p=[0.05, 0.9, 0.05])
    values, counts = np.unique(x, return_counts=True)
    for mean in (0.3, 0.51):
        assert ln_capital_of_counts(values, counts, mean) == pytest.approx(ln_capital(x, mean)[-1])
    limit = LN_20 + math.log(2)
    low, high = confidence_interval(x, LN_20)
    assert ln_capital(x, low)[-1] == pytest.approx(limit, abs=1e-6)
    assert ln_capital(1 - x, 1 - high)[-1] == pytest.approx(limit, abs=1e-6)


def test_capital_is_expected_to_stay_what_it_is() -> None:
    """Exactly, over all outcomes of six rows at the mean that is bet against."""
    mean, total = 0.3, 0.0
    for outcome in range(2**6):
        x = np.array([outcome >> i & 1 for i in range(6)], float)
        chance = float(np.prod(np.where(x == 1, mean, 1 - mean)))
        total += chance * math.exp(ln_capital(x, mean)[-1])
    assert total == pytest.approx(1)


def test_looking_after_every_row_errs_no_more_than_stated() -> None:
    rng = np.random.default_rng(4)
    alarms = 0
    for _ in range(400):
        x = (rng.choice([1, 0, -1], 2000, p=[0.06, 0.9, 0.04]) + 1) / 2
        alarms += bool((ln_capital(x, 0.51) >= LN_20).any())
    # Three standard errors of 400 draws above .05 would be .083.
    assert alarms / 400 < 0.05
