"""The bounds, against scipy's distributions, brute force and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

from runner.ci.bounds import bennett, binomial, hoeffding


def worst_one_sided(n: int, eps: float) -> float:
    """The largest over k of P(Bin(n, k/n - eps) >= k), by the incomplete beta function."""
    k = np.arange(math.floor(n * eps) + 1, n + 1)
    return float(special.betainc(k, n - k + 1, k / n - eps).max())


def worst_two_sided(n: int, eps: float) -> float:
    """The largest of P(|Bin(n, p)/n - p| > eps) on a fine grid of p and beside every jump."""
    k = np.arange(n + 1)
    jumps = np.concatenate([k / n - eps, k / n + eps])
    p = np.concatenate([np.linspace(0, 1, 201), jumps - 1e-9, jumps + 1e-9])
    p = p[(p > 0) & (p < 1)]
    bad = np.abs(k[None, :] / n - p[:, None]) > eps
    return float((stats.binom.pmf(k[None, :], n, p[:, None]) * bad).sum(axis=1).max())


@pytest.mark.parametrize(
    ("eps", "delta", "exact", "by_hoeffding"),
    [
        (0.1, 0.01, 145, 231),
        (0.05, 0.01, 561, 922),
        (0.05, 1e-3, 975, 1382),
        (0.05, 1e-4, 1403, 1843),
        (0.025, 0.01, 2205, 3685),
    ],
)
def test_the_exact_binomial(eps: float, delta: float, exact: int, by_hoeffding: int) -> None:
    assert binomial.samples(eps, -math.log(delta)) == exact
    assert math.ceil(hoeffding.samples(eps, -math.log(delta))) == by_hoeffding
    assert worst_one_sided(exact - 1, eps) > delta
    later = range(exact, exact + 60)
    assert all(worst_one_sided(n, eps) <= delta for n in later)


def test_no_smaller_number_and_all_larger_ones_do() -> None:
    for eps, delta in itertools.product((0.21, 0.1, 0.07), (0.2, 0.05, 0.01, 1e-3)):
        found = binomial.samples(eps, -math.log(delta))
        assert found is not None
        last = math.ceil(hoeffding.samples(eps, -math.log(delta))) + 5
        enough = [worst_one_sided(n, eps) <= delta for n in range(1, last)]
        assert found == max((n for n, good in enumerate(enough, 1) if not good), default=0) + 1


def test_the_two_sided_binomial_has_teeth() -> None:
    assert binomial.samples_two_sided(0.1, -math.log(0.01)) == 170
    assert math.ceil(hoeffding.samples(0.1, math.log(2 / 0.01))) == 265
    good = {n: worst_two_sided(n, 0.1) <= 0.01 for n in range(160, 180)}
    assert not any(good[n] for n in range(165, 170))
    assert all(good[n] for n in range(170, 180))


def test_the_tail_against_scipy() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(2, 5000))
        k = float(rng.uniform(1, n))
        p = float(rng.uniform(0.6, 0.97)) * k / n
        expected = float(special.betainc(k, n - k + 1, p))
        if expected > 1e-290:
            found = binomial.ln_upper_tail(n, k, p)
            assert found == pytest.approx(math.log(expected), rel=1e-9, abs=1e-9)


def test_the_exact_number_is_never_above_hoeffdings_at_any_scale() -> None:
    for eps, ln_term in itertools.product((0.3, 0.01), (3.0, 9.2, 31.4, 6940.0)):
        found = binomial.samples(eps, ln_term)
        assert found is not None
        assert 0.3 < found / math.ceil(hoeffding.samples(eps, ln_term)) <= 1
    assert binomial.samples(1e-6, 6940.0) is None


def test_bennetts_h() -> None:
    for u in (1e-9, 1e-6, 1e-4, 0.01, 0.1, 1.0, 30.0):
        exact = float(np.longdouble(1 + np.longdouble(u)) * np.log1p(np.longdouble(u)) - u)
        assert bennett.h(u) == pytest.approx(exact, rel=1e-6 if u > 1e-7 else 1e-2)


def test_bennett_is_above_the_true_probability() -> None:
    # X is 1, 0 or -1 with a second moment of p and a mean of 0, the worst there is for it.
    p, tolerance, delta = 0.1, 0.05, 0.05
    n = math.ceil(bennett.samples(tolerance, p, math.log(1 / delta)))
    differing = stats.binom(n, p)
    m = np.arange(n + 1)
    # Of m differing rows more than (m + n tolerance) / 2 favour the new model.
    tails = stats.binom.sf(np.floor((m + n * tolerance) / 2), m, 0.5)
    assert 0.001 < float((differing.pmf(m) * tails).sum()) <= delta


def test_hoeffdings_two_directions_agree() -> None:
    rows = hoeffding.samples(0.03, 7.0, span=2.0)
    assert hoeffding.half_width(round(rows), 7.0, span=2.0) == pytest.approx(0.03, rel=1e-3)
