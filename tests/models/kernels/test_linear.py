"""The kernels' shuffling and sums against Python's own arithmetic."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from runner.models.kernels.linear import LANES, log_loss, logistic_regression, margins, shuffle


def test_the_expected_generator_has_the_published_numbers(splitmix: Any) -> None:
    stream = splitmix(1234567)
    numbers = [stream.next() for _ in range(3)]
    assert numbers == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 1000])
@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_shuffling_is_fisher_and_yates_by_that_generator(
    count: int, seed: int, splitmix: Any
) -> None:
    order, state = np.arange(count), np.array([seed], np.uint64)
    shuffle(order, state)
    expected, stream = list(range(count)), splitmix(seed)
    for last in range(count - 1, 0, -1):
        drawn = stream.pick(stream.next(), last + 1)
        expected[last], expected[drawn] = expected[drawn], expected[last]
    assert order.tolist() == expected
    assert int(state[0]) == stream.state


def test_every_order_is_equally_likely() -> None:
    state, counts = np.array([3], np.uint64), Counter[tuple[int, ...]]()
    for _ in range(24_000):
        order = np.arange(4)
        shuffle(order, state)
        counts[tuple(order.tolist())] += 1
    assert set(counts) == set(permutations(range(4)))
    assert chisquare(list(counts.values())).pvalue > 0.001


@pytest.mark.parametrize("columns", [LANES, 3 * LANES, 9 * LANES])
def test_a_dot_product_adds_lanes_in_halves(columns: int) -> None:
    rng = np.random.default_rng(columns)
    row = rng.normal(size=(1, columns)).astype(np.float32)
    weights = rng.normal(size=columns + 1)
    sums = np.zeros(LANES)
    for block in range(0, columns, LANES):
        sums += row[0, block : block + LANES].astype(np.float64) * weights[block : block + LANES]
    while len(sums) > 1:
        sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
    margin = -(sums[0] + weights[columns])
    expected = max(-margin, 0.0) + math.log1p(math.exp(-abs(margin)))
    assert log_loss(row, np.array([-1.0]), np.arange(1), weights) == expected


def test_log_loss_is_the_mean_over_the_named_rows() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, LANES)).astype(np.float32)
    signs, weights = np.sign(rng.normal(size=50)), 30 * rng.normal(size=LANES + 1)
    named = np.array([3, 4, 17, 49])
    margin = signs * (rows @ weights[:-1] + weights[-1])
    assert log_loss(rows, signs, named, weights) == pytest.approx(
        np.logaddexp(0, -margin[named]).mean()
    )


def test_margins_agree_with_a_product() -> None:
    rng = np.random.default_rng(0)
    rows, weights, result = rng.normal(size=(70, 13)), rng.normal(size=13), np.empty(70)
    margins(rows, weights, 0.25, result)
    np.testing.assert_allclose(result, rows @ weights + 0.25, rtol=1e-12)


def test_a_huge_penalty_or_rate_leaves_logistic_weights_finite() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, LANES)).astype(np.float32)
    signs = np.sign(rng.normal(size=50))
    for rate, penalty in ((1.0, 1e300), (1e6, 0.0), (4.0, 1.0)):
        weights, state = np.zeros(LANES + 1), np.array([0], np.uint64)
        logistic_regression(rows, signs, np.arange(50), state, weights, rate, penalty, 20)
        assert np.isfinite(weights).all()
