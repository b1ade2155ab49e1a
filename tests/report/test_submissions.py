"""Probabilities that keep the order of the scores they are of."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.special import expit
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from runner.report.submissions import in_order

SCORES = arrays.arrays(
    np.float64,
    st.integers(1, 60),
    elements=st.one_of(
        st.floats(-1e6, 1e6), st.sampled_from([0.0, -0.0, 1e-300, 40.0, 41.0, 800.0, -800.0, 1e308])
    ),
)


@given(scores=SCORES)
def test_ranks_are_those_of_the_scores_and_nothing_moves_far(scores: np.ndarray) -> None:
    rounded = expit(scores).astype(np.float32).astype(np.float64)
    moved = in_order(rounded, scores)
    np.testing.assert_array_equal(rankdata(moved), rankdata(scores))
    assert moved.min() >= 0
    assert moved.max() <= 1
    np.testing.assert_allclose(moved, rounded, rtol=0, atol=60 * np.finfo(float).eps)


def test_probabilities_in_order_stay_as_they_are() -> None:
    scores = np.random.default_rng(0).permutation(1000) / 100
    np.testing.assert_array_equal(in_order(expit(scores), scores), expit(scores))


def test_an_auc_survives_saturation() -> None:
    draw = np.random.default_rng(1)
    y = draw.integers(0, 2, 500)
    scores = 200 * (draw.normal(size=500) + y)
    rounded = expit(scores).astype(np.float32).astype(np.float64)
    assert roc_auc_score(y, rounded) < roc_auc_score(y, scores) - 0.01
    assert roc_auc_score(y, in_order(rounded, scores)) == roc_auc_score(y, scores)
