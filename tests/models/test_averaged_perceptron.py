"""C-AP against scikit-learn's averaged SGD on the hinge loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from runner.metrics import auc
from runner.models.averaged_perceptron import AveragedPerceptron

Data = tuple[np.ndarray, np.ndarray]
Scale = Callable[[np.ndarray], np.ndarray]
Visits = Callable[[int, int, int], np.ndarray]


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
def test_agrees_with_scikit_learn(
    rate: float, real: Data, standardised: Scale, visits: Visits
) -> None:
    X, y = real
    Z = standardised(X)
    peer = SGDClassifier(
        loss="hinge",
        penalty=None,
        learning_rate="constant",
        eta0=rate,
        average=True,
        shuffle=False,
        max_iter=1,
        tol=None,
    )
    ours = AveragedPerceptron(learning_rate=rate, random_state=4)
    path = ours.path(ours.prepare(X, y), [{"iterations": passes} for passes in (1, 2, 10)])
    for passes, _seconds in zip((1, 2, 10), path, strict=True):
        # One pass over the rows as often as they are visited: scikit-learn's own second pass
        # would repeat the first one's order.
        order = visits(len(y), 4, passes)
        peer.fit(Z[order], y[order])
        np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-5, atol=1e-6)
        # A library's product may give equal rows different last bits.
        expected = auc(y.astype(np.uint8), peer.decision_function(Z).round(9))
        margin = ours.decision_function(X)
        assert auc(y.astype(np.uint8), margin) == pytest.approx(expected, abs=1e-6)


def test_the_rate_changes_the_model(breast_cancer: Data) -> None:
    """Unlike a perceptron's without margin, whose weights are proportional to the rate."""
    X, y = breast_cancer
    slow, fast = (AveragedPerceptron(learning_rate=rate).fit(X, y).coef_[0] for rate in (0.1, 1.0))
    cosine = slow @ fast / np.linalg.norm(slow) / np.linalg.norm(fast)
    assert cosine < 0.999


def test_rows_beyond_the_margin_change_nothing() -> None:
    X, y = np.array([[-1.0], [1.0]]), [0, 1]
    one, many = (AveragedPerceptron(iterations=passes).fit(X, y) for passes in (2, 2000))
    # One step of length 1 suffices: from then on the weights stay, and the mean tends to them.
    assert abs(many.coef_[0, 0]) > abs(one.coef_[0, 0])
    assert many.coef_[0, 0] == pytest.approx(round(many.coef_[0, 0]), abs=1e-3)
