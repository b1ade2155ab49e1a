"""XGB against xgboost's own scikit-learn interface."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xgboost import XGBClassifier

from runner.models.xgboost_trees import XGBoostTrees

Data = tuple[np.ndarray, np.ndarray]


def peer(**given: Any) -> XGBClassifier:
    return XGBClassifier(
        tree_method="hist", grow_policy="lossguide", max_depth=0, n_jobs=1, verbosity=0, **given
    )


@pytest.mark.parametrize(("leaves", "weight"), [(8, 1.0), (32, 5.0)])
def test_equals_xgboosts_classifier(real: Data, leaves: int, weight: float) -> None:
    X, y = real
    own = XGBoostTrees(leaves, weight, learning_rate=0.2, trees=30).fit(X[::2], y[::2])
    other = peer(max_leaves=leaves, min_child_weight=weight, learning_rate=0.2, n_estimators=30)
    other.fit(X[::2], y[::2])
    np.testing.assert_array_equal(
        own.decision_function(X), other.predict(X, output_margin=True).astype(np.float64)
    )


def test_a_prefix_is_a_fit_of_fewer_trees(breast_cancer: Data) -> None:
    X, y = breast_cancer
    model = XGBoostTrees(leaves=8)
    path = model.path(model.prepare(X, y), [{"trees": trees} for trees in (3, 11, 40)])
    for trees, _ in zip((3, 11, 40), path, strict=True):
        other = peer(max_leaves=8, learning_rate=0.3, n_estimators=trees).fit(X, y)
        margin = other.predict(X, output_margin=True)
        np.testing.assert_array_equal(model.decision_function(X), margin.astype(np.float64))


@pytest.mark.parametrize("weight", [0.0, 3.0, 20.0])
def test_no_child_is_lighter_than_asked_for(breast_cancer: Data, weight: float) -> None:
    X, y = breast_cancer
    model = XGBoostTrees(min_child_weight=weight, trees=20).fit(X, y)
    trees = model.booster_.trees_to_dataframe()
    leaves = trees[(trees.Feature == "Leaf") & (trees.groupby("Tree").Node.transform("size") > 1)]
    assert leaves.Cover.min() >= weight
    assert len(leaves)


def test_leaves_are_bounded(breast_cancer: Data) -> None:
    X, y = breast_cancer
    model = XGBoostTrees(leaves=5, min_child_weight=0, trees=10).fit(X, y)
    trees = model.booster_.trees_to_dataframe()
    assert (trees[trees.Feature == "Leaf"].groupby("Tree").size() == 5).sum() >= 5
    assert trees[trees.Feature == "Leaf"].groupby("Tree").size().max() == 5


def test_threads_do_not_change_the_numbers() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 8))
    score = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=len(X))
    y = score > np.quantile(score, 0.94)
    margins = [
        XGBoostTrees(128, 0.0, 0.4, 30, threads=threads).fit(X, y).decision_function(X)
        for threads in (1, 2)
    ]
    assert margins[0].tobytes() == margins[1].tobytes()


def test_values_beyond_float32_are_bounded() -> None:
    X = np.array([[-1e300], [-1e39], [0.0], [1e39], [1e300]] * 20)
    y = (X[:, 0] > 0).astype(int)
    model = XGBoostTrees(trees=5).fit(X, y)
    assert (model.predict(X) == y).all()
