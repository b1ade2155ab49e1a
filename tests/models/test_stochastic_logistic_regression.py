"""A-LR against a plain loop and against the optimum of its objective."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from runner.metrics import auc
from runner.models.kernels.linear import shuffle
from runner.models.logistic_regression import LogisticRegression
from runner.models.stochastic_logistic_regression import RATES, StochasticLogisticRegression

Data = tuple[np.ndarray, np.ndarray]


def descend(
    Z: np.ndarray, signs: np.ndarray, order: np.ndarray, state: np.ndarray, rate: float, l2: float
) -> list[tuple[np.ndarray, float]]:
    """Weights and intercept after each of ten passes, one row a step."""
    order, state = order.copy(), state.copy()
    weights, intercept, course = np.zeros(Z.shape[1]), 0.0, []
    for _ in range(10):
        shuffle(order, state)
        for row in order:
            step = rate * signs[row] * expit(-signs[row] * (Z[row] @ weights + intercept))
            weights = (weights + step * Z[row]) / (1 + rate * l2)
            intercept += step
        course.append((weights, intercept))
    return course


@pytest.mark.parametrize("l2", [1e-6, 0.1])
def test_equals_a_plain_loop_with_the_rate_best_on_the_rows_held_out(
    l2: float, breast_cancer: Data
) -> None:
    X, y = breast_cancer[0][::4, :5], breast_cancer[1][::4]
    fitted = StochasticLogisticRegression(l2=l2, random_state=3).fit(X, y)
    Z = fitted.prepare(X, y).rows.features[:, :5].astype(np.float64)
    signs = np.where(y == 1, 1.0, -1.0)
    order, state = np.arange(len(y)), np.array([3], np.uint64)
    # The passes' orders are drawn after the rows held out, not from the same numbers again.
    shuffle(order, state)
    held_out, others = order[: len(y) // 5], order[len(y) // 5 :]
    losses = []
    for rate in RATES:
        late = descend(Z, signs, others, state, rate / 5, l2)[5:]
        margins = [signs[held_out] * (Z[held_out] @ w + intercept) for w, intercept in late]
        losses.append(np.logaddexp(0, -np.array(margins)).mean())
    best = RATES[int(np.argmin(losses))] / 5
    assert fitted.learning_rate_ == best
    weights, intercept = descend(Z, signs, np.arange(len(y)), state, best, l2)[-1]
    np.testing.assert_allclose(fitted.coef_[0], weights, rtol=1e-9)
    assert fitted.intercept_[0] == pytest.approx(intercept, rel=1e-9)


def test_is_nearly_as_good_as_the_exact_optimum(real: Data) -> None:
    X, y = real
    test = np.arange(len(y)) % 4 == 0
    exact = LogisticRegression(tolerance=1e-9, l1=0, l2=1.0).fit(X[~test], y[~test])
    label = y[test].astype(np.uint8)
    # Ten passes over few rows are few steps.
    near = 0.02 + 5 / len(y)
    for seed in range(5):
        ours = StochasticLogisticRegression(random_state=seed).fit(X[~test], y[~test])
        assert auc(label, ours.decision_function(X[test])) > (
            auc(label, exact.decision_function(X[test])) - near
        )


def test_many_passes_of_a_penalised_model_reach_the_optimum(breast_cancer: Data) -> None:
    X, y = breast_cancer
    l2 = 0.1
    ours = StochasticLogisticRegression(passes=1000, l2=l2).fit(X, y)
    exact = LogisticRegression(tolerance=1e-14, l1=0, l2=l2 * len(y)).fit(X, y)

    def objective(fitted: StochasticLogisticRegression | LogisticRegression) -> float:
        margin = np.where(y == 1, 1, -1) * fitted.decision_function(X)
        return np.logaddexp(0, -margin).mean() + l2 / 2 * (fitted.coef_**2).sum()

    assert 0 <= objective(ours) - objective(exact) < 0.01


def test_the_seed_decides_what_is_held_out(breast_cancer: Data) -> None:
    X, y = breast_cancer
    first, again, other = (
        StochasticLogisticRegression(random_state=seed).fit(X, y).coef_ for seed in (0, 0, 1)
    )
    assert (first == again).all()
    assert (first != other).any()
