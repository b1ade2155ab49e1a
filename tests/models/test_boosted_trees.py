"""C-BDT against LightGBM's own scikit-learn classifier."""

from __future__ import annotations

import numpy as np
import pytest
from lightgbm import LGBMClassifier

from runner.models import family
from runner.models.boosted_trees import BoostedTrees

Data = tuple[np.ndarray, np.ndarray]


def peer(leaves: int, min_leaf: int, learning_rate: float, trees: int) -> LGBMClassifier:
    return LGBMClassifier(
        num_leaves=leaves,
        min_child_samples=min_leaf,
        learning_rate=learning_rate,
        n_estimators=trees,
        feature_pre_filter=False,
        deterministic=True,
        force_col_wise=True,
        n_jobs=1,
        random_state=0,
        verbose=-1,
    )


def assert_equals_peer(values: dict, X: np.ndarray, y: np.ndarray) -> None:
    margin = BoostedTrees(**values).fit(X, y).decision_function(X)
    expected = peer(**values).fit(X, y).predict(X, raw_score=True)
    assert margin.tobytes() == expected.tobytes(), values


def test_equals_lightgbm_bit_for_bit(breast_cancer: Data) -> None:
    grid = family("C-BDT").configurations()
    for _, values in grid[::17]:
        assert_equals_peer(values, *breast_cancer)


def test_equals_lightgbm_on_real_data(real: Data) -> None:
    grid = dict(family("C-BDT").configurations({"trees": [20]}))
    for number in list(grid)[::29]:
        assert_equals_peer(grid[number], *real)


@pytest.mark.parametrize("rows", [2, 30, 90])
@pytest.mark.parametrize("learning_rate", [0.4, 1.0])
def test_equals_lightgbm_where_nothing_is_left_to_split(
    rows: int, learning_rate: float, breast_cancer: Data
) -> None:
    X, y = breast_cancer[0][:rows], breast_cancer[1][:rows]
    y = np.where(np.arange(rows) == 1, 1 - y[0], y)
    values = {"leaves": 8, "min_leaf": 10, "learning_rate": learning_rate, "trees": 500}
    assert_equals_peer(values, X, y)
    stopped = BoostedTrees(**values)
    prefixes = stopped.path(stopped.prepare(X, y), [{"trees": n} for n in (1, 2, 500)])
    for trees, _seconds in zip((1, 2, 500), prefixes, strict=True):
        expected = peer(**values | {"trees": trees}).fit(X, y).predict(X, raw_score=True)
        assert stopped.decision_function(X).tobytes() == expected.tobytes()


def test_every_prefix_is_a_separate_fit(breast_cancer: Data) -> None:
    X, y = breast_cancer
    long = BoostedTrees(leaves=8, trees=40)
    path = long.path(long.prepare(X, y), [{"trees": n} for n in range(1, 41)])
    for trees, _seconds in enumerate(path, start=1):
        alone = BoostedTrees(leaves=8, trees=trees).fit(X, y)
        assert long.decision_function(X).tobytes() == alone.decision_function(X).tobytes()
        assert long.trees_ == trees
