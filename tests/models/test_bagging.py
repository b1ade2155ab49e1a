"""What C-DF and C-DJ promise as ensembles: every smaller one is on the way to a larger one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from runner.models import Family, Stop, family

Data = tuple[np.ndarray, np.ndarray]

MEMBERS, DEPTHS = (1, 2, 3, 7), (1, 2, 3, 5, 64)


@pytest.fixture(params=["C-DF", "C-DJ"])
def one(request: pytest.FixtureRequest) -> Family:
    return family(request.param)


@pytest.fixture(scope="module")
def noisy() -> Data:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 5)).round(1)
    return X, X[:, 0] * X[:, 1] + rng.normal(size=400) > 0


def estimator(one: Family, threads: int = 1, **values: Any) -> Any:
    rest: Mapping[str, Any] = {
        "C-DF": {"splits": 20, "min_leaf": 2},
        "C-DJ": {"width": 12, "steps": 300},
    }[one.name]
    full = {name: values.get(name, 1) for name in one.shared} | rest
    return one.estimator(full, seed=3, threads=threads)


def stops(one: Family, points: Any) -> list[Stop]:
    return [dict(zip(one.shared, point, strict=True)) for point in points]


def margins(one: Family, data: Data, points: Any, threads: int = 1) -> list[bytes]:
    fitted = estimator(one, threads)
    path = fitted.path(fitted.prepare(*data), stops(one, points))
    return [fitted.decision_function(data[0]).tobytes() for _ in path]


def test_every_ensemble_on_the_way_is_a_separate_fit(one: Family, noisy: Data) -> None:
    points = list(itertools.product(MEMBERS, DEPTHS))
    separate = [margins(one, noisy, [point])[0] for point in points]
    assert len(set(separate)) > 12
    assert margins(one, noisy, points) == separate
    assert margins(one, noisy, points, threads=3) == separate
    # Also along any subset, where members pause at fewer depths.
    known = dict(zip(points, separate, strict=True))
    rng = np.random.default_rng(0)
    for _ in range(20):
        subset = [point for point in points if rng.random() < 0.3]
        assert margins(one, noisy, subset) == [known[point] for point in subset]


def test_own_seconds_are_those_of_the_members_and_levels_asked_for(
    one: Family, noisy: Data
) -> None:
    points = list(itertools.product(MEMBERS, DEPTHS))
    fitted = estimator(one)
    spent = list(fitted.path(fitted.prepare(*noisy), stops(one, points)))
    seconds = dict(zip(points, (at.own for at in spent), strict=True))
    assert min(seconds.values()) > 0
    for at, following in pairwise(spent):
        assert 0 < at.ahead < following.own
    # The last of a row of depths holds all that was spent; the next row begins with its first.
    row = len(DEPTHS)
    assert spent[row - 1].ahead == spent[0].own
    for members, depth in points:
        assert seconds[members, depth] <= seconds[members, DEPTHS[-1]]
        assert seconds[members, depth] <= seconds[MEMBERS[-1], depth]


@pytest.mark.parametrize("points", [[(2, 3), (2, 2)], [(2, 3), (1, 64)]])
def test_stops_must_ascend(one: Family, noisy: Data, points: Any) -> None:
    fitted = estimator(one)
    with pytest.raises(ValueError, match="must ascend"):
        list(fitted.path(fitted.prepare(*noisy), stops(one, points)))


def test_a_model_is_left_alone_by_growth_that_goes_on(one: Family, noisy: Data) -> None:
    fitted = estimator(one)
    path = fitted.path(fitted.prepare(*noisy), stops(one, itertools.product(MEMBERS, DEPTHS)))
    next(path)
    early = [nodes for _, nodes in fitted._models]
    before = [nodes.copy() for nodes in early]
    list(path)
    for nodes, expected in zip(early, before, strict=True):
        np.testing.assert_array_equal(nodes, expected)


def test_seeds_and_row_order_change_the_bags(one: Family, noisy: Data) -> None:
    X, y = noisy
    fits = []
    for seed, order in ((0, slice(None)), (1, slice(None)), (0, slice(None, None, -1))):
        fitted = estimator(one, trees=3, dags=3, depth=5).set_params(random_state=seed)
        fits.append(fitted.fit(X[order], y[order]).decision_function(X).tobytes())
    assert len(set(fits)) == 3


def test_bags_hold_as_many_rows_as_there_are_drawn_evenly() -> None:
    from runner.models.kernels import bagging

    n, trees = 1000, 200
    positive = np.arange(n) % 4 == 0
    rows = np.empty((trees, n), dtype=np.int32)
    weights = np.empty((trees, n), dtype=np.int64)
    nodes = np.empty((trees, 6), dtype=np.int32)
    frontier = np.empty((trees, 5), dtype=np.int64)
    bagging.plant(positive, 5, 0, rows, weights, nodes, frontier)
    total = np.zeros(n)
    for tree in range(trees):
        used = slice(0, frontier[tree, 3])
        copies = weights[tree, used] >> 32
        assert (np.diff(rows[tree, used]) > 0).all()
        assert copies.sum() == n == nodes[tree, 4]
        assert copies[positive[rows[tree, used]]].sum() == nodes[tree, 5]
        total[rows[tree, used]] += copies
        # A share of 1 - 1/e of the rows is in a bag.
        assert abs((used.stop or 0) / n - 0.632) < 0.06
    # Counts of a row over all bags are binomial with a variance of about 200.
    assert 150 < total.var() < 250
