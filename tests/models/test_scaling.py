"""Standardised columns against scikit-learn and at the ends of floating point."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from runner.models.scaling import Scaling


def scaled(X: np.ndarray) -> np.ndarray:
    return Scaling.learn(X).apply(X)


@pytest.mark.parametrize("offset", [0.0, 5.0, -1e6])
@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_agrees_with_scikit_learn(scale: float, offset: float) -> None:
    X = (np.random.default_rng(0).normal(size=(200, 4)) + offset) * scale
    np.testing.assert_allclose(scaled(X), StandardScaler().fit_transform(X), atol=1e-8)


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-200, 1e200, 1.7e308])
def test_no_scale_is_too_small_or_too_large(scale: float) -> None:
    X = np.array([[-1.0], [1.0], [1.0], [-1.0]]) * scale
    np.testing.assert_allclose(scaled(X), np.sign(X))


@pytest.mark.parametrize("value", [0.0, 0.1, 1e30, -1.7e308, 5e-324])
def test_constant_columns_become_nought_whatever_comes_later(value: float) -> None:
    scaling = Scaling.learn(np.full((7, 1), value))
    later = np.array([[value], [0.3], [-1.7e308], [1.7e308]])
    assert (scaling.apply(later) == 0).all()


def test_rows_far_outside_stay_finite() -> None:
    scaling = Scaling.learn(np.array([[0.0, -1.7e308], [1e-300, 1.7e308]]))
    later = scaling.apply(np.array([[1.7e308, 1.7e308], [-1.7e308, -1.7e308]]))
    assert np.isfinite(later).all()
    assert (np.sign(later[:, 0]) == [1, -1]).all()
