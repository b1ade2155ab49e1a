"""The forest behind DCS and DES against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from runner.ensemble.dynamic import chosen
from runner.ensemble.performance_model import PerformanceModel, RegressionForest, errors


def noisy(rows: int, columns: int, outputs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    # Values that 32 bits hold exactly, since scikit-learn's trees round what they are given.
    X = rng.integers(-(2**20), 2**20, size=(rows, columns)) / 2**18
    return X, np.sin(X[:, :1]) + rng.normal(size=(rows, outputs)) / 3


@pytest.mark.parametrize(("rows", "outputs"), [(20, 1), (150, 3), (150, 9), (80, 50)])
def test_equals_scikit_learns_where_only_one_cut_is_best(rows: int, outputs: int) -> None:
    X, targets = noisy(rows, 1, outputs, rows)
    asked = noisy(200, 1, outputs, 1)[0]
    ours = RegressionForest(30, random_state=4).fit(X, targets).predict(asked)
    theirs = RandomForestRegressor(30, random_state=4).fit(X, targets).predict(asked)
    assert ours == pytest.approx(theirs.reshape(200, -1), abs=1e-9)


def test_a_tree_knows_the_rows_of_its_bag() -> None:
    X, targets = noisy(60, 4, 5, 2)
    said = RegressionForest(1, random_state=7).fit(X, targets).predict(X)
    theirs = RandomForestRegressor(1, random_state=7).fit(X, targets).predict(X)
    known = np.isclose(theirs, targets).all(axis=1)
    assert 30 < known.sum() < 50
    assert (np.isclose(said, targets).all(axis=1) == known).all()


def test_errs_as_little_as_scikit_learns() -> None:
    X, targets = noisy(200, 6, 10, 3)
    asked, wanted = noisy(400, 6, 10, 4)

    def error(forest: object) -> float:
        said = forest.fit(X, targets).predict(asked)  # type: ignore[attr-defined]
        return float(np.mean((said - wanted) ** 2))

    ours = [error(RegressionForest(40, seed)) for seed in range(5)]
    theirs = [error(RandomForestRegressor(40, random_state=seed)) for seed in range(5)]
    assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.02)


def test_gaps_between_values_do_not_cut_equal_rows_apart() -> None:
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    targets = np.array([[0.0], [1.0], [5.0], [6.0]])
    said = RegressionForest(200, 0).fit(X, targets).predict(np.array([[0.0], [1.0], [0.4], [0.6]]))
    assert said[0] == said[2]
    assert said[1] == said[3]
    assert said[1] - said[0] > 3


def test_constant_features_and_targets_give_the_mean() -> None:
    same = np.zeros((10, 2))
    targets = np.arange(10.0)[:, np.newaxis]
    said = RegressionForest(400, 0).fit(same, targets).predict(same[:1])
    assert said[0, 0] == pytest.approx(4.5, abs=0.2)
    constant = RegressionForest(3, 0).fit(noisy(10, 2, 1, 0)[0], np.full((10, 1), 0.3))
    assert constant.predict(same[:1])[0, 0] == pytest.approx(0.3)


@pytest.mark.parametrize("forest", ["own", "scikit-learn"])
def test_a_seed_decides_everything(forest: str) -> None:
    X, targets = noisy(40, 3, 4, 5)
    said = [PerformanceModel(10, forest, seed).fit(X, targets).predict(X) for seed in (1, 1, 2)]
    assert (said[0] == said[1]).all()
    assert (said[0] != said[2]).any()


def test_takes_as_much_from_a_generator_as_scikit_learns() -> None:
    X, targets = noisy(30, 2, 2, 6)
    ours, theirs = np.random.RandomState(5), np.random.RandomState(5)
    RegressionForest(12, ours).fit(X, targets)
    RandomForestRegressor(12, random_state=theirs).fit(X, targets)
    assert ours.randint(2**31) == theirs.randint(2**31)


def test_one_model_has_one_column() -> None:
    X, targets = noisy(30, 2, 1, 6)
    for forest in ("own", "scikit-learn"):
        assert PerformanceModel(3, forest).fit(X, targets).predict(X).shape == (30, 1)


def test_errors_are_wrong_classes_and_lacking_confidence() -> None:
    confidences = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.2, 0.8], [0.0, 1.0]]])
    predictions = np.array([[0, 1], [1, 1]])
    found = errors(confidences, predictions, np.array([0, 1]))
    assert found == pytest.approx(np.array([[0.1, 1.8], [0.4, 0.0]]))


def test_models_join_until_half_the_expected_error_is_reached() -> None:
    expected = np.array([[0.4, 0.1, 0.2, 0.3], [0.0, 0.0, 0.0, 0.0], [5.0, 1.0, 1.0, 1.0]])
    # .1 and .2 are below .5, and .3 crosses it; where all is 0, the first; 1 + 1 + 1 < 4, and 5.
    assert chosen(expected, 0.5).tolist() == [
        [False, True, True, True],
        [True, False, False, False],
        [True, True, True, True],
    ]
