"""C-SVM against scikit-learn's SGD with the same rates, and against the exact optimum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC

from runner.metrics import auc
from runner.models.support_vector_machine import SupportVectorMachine

Data = tuple[np.ndarray, np.ndarray]
Scale = Callable[[np.ndarray], np.ndarray]
Visits = Callable[[int, int, int], np.ndarray]
LAMBDAS = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]


def objective(
    weights: np.ndarray, intercept: float, Z: np.ndarray, y: np.ndarray, lambda_
) -> float:
    margin = np.where(y == 1, 1, -1) * (Z @ weights + intercept)
    return np.maximum(0, 1 - margin).mean() + lambda_ / 2 * weights @ weights


@pytest.mark.parametrize("lambda_", LAMBDAS)
def test_agrees_with_scikit_learn_given_the_rate_of_every_step(
    lambda_: float, breast_cancer: Data, standardised: Scale, visits: Visits
) -> None:
    X, y = breast_cancer
    Z = standardised(X)
    peer = SGDClassifier(loss="hinge", alpha=lambda_, learning_rate="constant", eta0=1.0)
    for step, row in enumerate(visits(len(y), 0, 2), start=1):
        peer.eta0 = 1 / (1 + lambda_ * step)
        peer.partial_fit(Z[row : row + 1], y[row : row + 1], classes=[0, 1])
    ours = SupportVectorMachine(iterations=2, lambda_=lambda_).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-5, atol=1e-5)
    expected = auc(y.astype(np.uint8), peer.decision_function(Z))
    assert auc(y.astype(np.uint8), ours.decision_function(X)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("lambda_", LAMBDAS)
def test_equals_the_recursion_step_by_step(lambda_: float, real: Data, visits: Visits) -> None:
    X, y = real
    fitted = SupportVectorMachine(iterations=3, lambda_=lambda_, random_state=9)
    Z = fitted.prepare(X, y).rows.features[:, : X.shape[1]].astype(np.float64)
    signs = np.where(y == 1, 1.0, -1.0)
    weights, intercept = np.zeros(X.shape[1]), 0.0
    for step, row in enumerate(visits(len(y), 9, 3), start=1):
        rate = 1 / (1 + lambda_ * step)
        within = signs[row] * (Z[row] @ weights + intercept) < 1
        weights *= 1 - rate * lambda_
        if within:
            weights += rate * signs[row] * Z[row]
            intercept += rate * signs[row]
    fitted.fit(X, y)
    np.testing.assert_allclose(fitted.coef_[0], weights, rtol=1e-8, atol=1e-8)
    assert fitted.intercept_[0] == pytest.approx(intercept, rel=1e-8)


def test_approaches_the_optimum(breast_cancer: Data, standardised: Scale) -> None:
    X, y = breast_cancer
    Z, lambda_ = standardised(X), 0.1
    exact = SVC(kernel="linear", C=1 / (lambda_ * len(y)), tol=1e-8).fit(Z, y)
    best = objective(exact.coef_[0], exact.intercept_[0], Z, y, lambda_)
    fitted = SupportVectorMachine(lambda_=lambda_)
    stops = [{"iterations": passes} for passes in (1, 100, 10_000)]
    gaps = [
        objective(fitted.coef_[0], fitted.intercept_[0], Z, y, lambda_) - best
        for _ in fitted.path(fitted.prepare(X, y), stops)
    ]
    assert gaps[0] > gaps[1] > gaps[2] > -1e-9
    assert gaps[2] < 1e-5
    expected = auc(y.astype(np.uint8), exact.decision_function(Z))
    assert auc(y.astype(np.uint8), fitted.decision_function(X)) == pytest.approx(expected, abs=1e-4)
