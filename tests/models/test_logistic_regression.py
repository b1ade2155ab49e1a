"""C-LR against scikit-learn and against the conditions of an optimum."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Lasso
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.preprocessing import StandardScaler

from runner.models.logistic_regression import LogisticRegression
from runner.models.owlqn import minimise

Data = tuple[np.ndarray, np.ndarray]


def objective(fitted: LogisticRegression | Peer, Z: np.ndarray, y: np.ndarray, l1, l2) -> float:
    weights = fitted.coef_[0]
    margin = Z @ weights + fitted.intercept_[0]
    loss = np.logaddexp(0, np.where(y == 1, -margin, margin)).mean()
    return loss + (l1 * np.abs(weights).sum() + l2 / 2 * weights @ weights) / len(y)


@pytest.mark.parametrize("l2", [0.01, 0.1, 1.0])
def test_agrees_with_newton_without_l1(l2: float, real: Data) -> None:
    X, y = real
    Z = StandardScaler().fit_transform(X)
    expected = Peer(C=1 / l2, solver="newton-cholesky", tol=1e-10, max_iter=1000).fit(Z, y)
    ours = LogisticRegression(tolerance=1e-16, l1=0, l2=l2).fit(X, y)
    gap = objective(ours, Z, y, 0, l2) - objective(expected, Z, y, 0, l2)
    assert abs(gap) < 1e-11
    np.testing.assert_allclose(
        ours.decision_function(X), expected.decision_function(Z), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize(("l1", "l2"), [(0.1, 1.0), (1.0, 1.0), (1.0, 0.1)])
def test_agrees_with_the_elastic_net(l1: float, l2: float, breast_cancer: Data) -> None:
    X, y = breast_cancer
    Z = StandardScaler().fit_transform(X)
    expected = Peer(
        C=1 / (l1 + l2), l1_ratio=l1 / (l1 + l2), solver="saga", tol=1e-8, max_iter=20_000
    ).fit(Z, y)
    ours = LogisticRegression(tolerance=1e-16, l1=l1, l2=l2).fit(X, y)
    assert objective(ours, Z, y, l1, l2) <= objective(expected, Z, y, l1, l2) + 1e-12
    np.testing.assert_allclose(ours.coef_, expected.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, expected.intercept_, atol=1e-4)
    np.testing.assert_array_equal(ours.coef_ == 0, expected.coef_ == 0)


@pytest.mark.parametrize("l2", [0.01, 1.0])
@pytest.mark.parametrize("l1", [0.0, 0.1, 1.0, 300.0])
def test_the_solution_meets_the_conditions_of_an_optimum(l1: float, l2: float, real: Data) -> None:
    X, y = real
    Z = StandardScaler().fit_transform(X)
    fitted = LogisticRegression(tolerance=1e-16, l1=l1, l2=l2).fit(X, y)
    weights = fitted.coef_[0]
    residual = 1 / (1 + np.exp(-fitted.decision_function(X))) - y
    slope = (Z.T @ residual + l2 * weights) / len(y)
    bound = l1 / len(y)
    zero = weights == 0
    assert abs(residual.mean()) < 1e-5
    assert (np.abs(slope[zero]) <= bound + 1e-12).all()
    np.testing.assert_allclose(slope[~zero], -bound * np.sign(weights[~zero]), atol=1e-5)
    assert l1 > 0 or not zero[Z.any(axis=0)].any()


def test_the_grids_tolerance_is_near_the_optimum(real: Data) -> None:
    X, y = real
    Z = StandardScaler().fit_transform(X)
    best = objective(LogisticRegression(tolerance=1e-16).fit(X, y), Z, y, 1, 1)
    fine = objective(LogisticRegression(tolerance=1e-7).fit(X, y), Z, y, 1, 1)
    coarse = objective(LogisticRegression(tolerance=1e-4).fit(X, y), Z, y, 1, 1)
    assert best <= fine <= best + 1e-5
    assert fine <= coarse <= best + 1e-2


@pytest.mark.parametrize("l1", [0.0, 1.0])
def test_memory_does_not_move_the_optimum(l1: float, real: Data) -> None:
    X, y = real
    weights = [
        LogisticRegression(tolerance=1e-16, l1=l1, l2=1.0, memory=memory).fit(X, y).coef_
        for memory in (5, 20, 50)
    ]
    np.testing.assert_allclose(weights[0], weights[1], atol=2e-4)
    np.testing.assert_allclose(weights[2], weights[1], atol=2e-4)


def test_a_strong_penalty_leaves_the_class_ratio(breast_cancer: Data) -> None:
    X, y = breast_cancer
    fitted = LogisticRegression(tolerance=1e-16, l1=1e6).fit(X, y)
    assert (fitted.coef_ == 0).all()
    assert fitted.intercept_[0] == pytest.approx(np.log(y.mean() / (1 - y.mean())))


def test_training_ends_without_any_penalty_on_separable_rows() -> None:
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    fitted = LogisticRegression(tolerance=1e-300, l1=0, l2=0).fit(X, [0, 0, 1, 1])
    assert np.isfinite(fitted.coef_).all()
    assert (fitted.predict(X) == [0, 0, 1, 1]).all()


class Quadratic:
    """``|A x - b|^2 / 2``, with scales far apart."""

    def __init__(self, columns: int) -> None:
        rng = np.random.default_rng(columns)
        self.A = rng.normal(size=(columns * 2, columns)) * np.logspace(0, 2, columns)
        self.b = rng.normal(size=columns * 2)

    def value(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        error = self.A @ point - self.b
        return float(error @ error / 2), error

    def gradient(self, point: np.ndarray, computed: np.ndarray) -> np.ndarray:
        return self.A.T @ computed


def test_owlqn_finds_the_least_squares_and_never_rises() -> None:
    smooth = Quadratic(12)
    path = list(minimise(smooth, np.zeros(12), np.zeros(12), memory=10))
    values = [value for _, value in path]
    assert values == sorted(values, reverse=True)
    np.testing.assert_allclose(
        path[-1][0], np.linalg.lstsq(smooth.A, smooth.b)[0], rtol=1e-5, atol=1e-8
    )


@pytest.mark.parametrize("penalty", [0.1, 3.0, 100.0])
def test_owlqn_finds_the_lasso(penalty: float) -> None:
    smooth = Quadratic(12)
    *_, (point, _) = minimise(smooth, np.full(12, penalty), np.zeros(12), memory=10)
    lasso = Lasso(alpha=penalty / 24, fit_intercept=False, tol=1e-14, max_iter=10**6)
    expected = lasso.fit(smooth.A, smooth.b).coef_
    np.testing.assert_allclose(point, expected, atol=1e-6)
    np.testing.assert_array_equal(point == 0, expected == 0)
