"""Bins against NumPy's searchsorted, and what their cuts promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from runner.models.binning import BINS, Binning

FINITE = st.floats(allow_nan=False, allow_infinity=False)
FEW = st.sampled_from([-1e308, -3.0, -0.0, 0.0, 5e-324, 1.0, np.nextafter(1.0, 2), 7.0, 1.7e308])


@settings(deadline=None)
@given(arrays(np.float64, st.tuples(st.integers(1, 300), st.integers(1, 3)), elements=FINITE))
def test_a_bin_is_the_number_of_cuts_below_a_value(X: np.ndarray) -> None:
    binning = Binning.learn(X)
    codes = binning.apply(X)
    assert codes.dtype == np.uint8
    assert codes.max() < BINS
    assert (np.diff(binning.cuts[:, :1]) >= 0).all()
    for column in range(X.shape[1]):
        expected = np.searchsorted(binning.cuts[column], X[:, column], side="left")
        np.testing.assert_array_equal(codes[:, column], expected)


@settings(deadline=None)
@given(arrays(np.float64, st.tuples(st.integers(1, 300), st.just(1)), elements=FEW))
def test_few_distinct_values_have_a_bin_each(X: np.ndarray) -> None:
    binning = Binning.learn(X)
    distinct, ranks = np.unique(X[:, 0], return_inverse=True)
    np.testing.assert_array_equal(binning.apply(X)[:, 0], ranks)
    assert list(binning.varying) == ([0] if len(distinct) > 1 else [])


def test_cuts_halve_the_way_between_neighbours() -> None:
    assert list(Binning.learn(np.array([[1.0], [4.0], [2.0]])).cuts[0, :3]) == [1.5, 3.0, np.inf]


@pytest.mark.parametrize("rows", [65, 640, 641, 10_007])
def test_bins_share_the_rows_evenly(rows: int) -> None:
    X = np.random.default_rng(0).normal(size=(rows, 1))
    counts = np.bincount(Binning.learn(X).apply(X)[:, 0], minlength=BINS)
    assert counts.min() >= rows // BINS
    assert counts.max() <= rows // BINS + 1


def test_a_value_that_fills_many_bins_leaves_the_others_to_the_rest() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([np.zeros(9000), rng.normal(size=1000)])[:, None]
    counts = np.bincount(Binning.learn(X).apply(X)[:, 0], minlength=BINS)
    assert counts.max() == 9000
    assert np.sort(counts)[-2] <= 1000 // (BINS - 2) + 1
    assert (counts > 0).all()


def test_rows_beyond_the_training_range_fall_in_the_outer_bins() -> None:
    binning = Binning.learn(np.arange(1000.0)[:, None])
    assert list(binning.apply(np.array([[-1e300], [1e300]]))[:, 0]) == [0, BINS - 1]
