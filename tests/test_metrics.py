"""AUC against scikit-learn, against counting pairs, and its properties."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from runner.metrics import auc


@st.composite
def labelled_scores(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    rows = draw(st.integers(2, 40))
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows)), np.uint8)
    y[:2] = 0, 1
    few = st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 5e-324, 0.1, 1e308, np.inf])
    any_float = st.one_of(few, st.floats(allow_nan=False))
    scores = draw(st.lists(any_float, min_size=rows, max_size=rows))
    return y, np.array(scores, np.float64)


def counted(y: np.ndarray, score: np.ndarray) -> Fraction:
    pairs = [(p, q) for p in score[y == 1] for q in score[y == 0]]
    wins = sum(
        Fraction(1) if p > q else Fraction(1, 2) if p == q else Fraction(0) for p, q in pairs
    )
    return wins / len(pairs)


@given(labelled_scores())
def test_equals_the_counted_pairs_exactly(case: tuple[np.ndarray, np.ndarray]) -> None:
    assert auc(*case) == float(counted(*case))


@given(labelled_scores(), st.randoms(use_true_random=False))
def test_does_not_depend_on_the_order_of_rows(case, random) -> None:
    y, score = case
    order = list(range(len(y)))
    random.shuffle(order)
    assert auc(y[order], score[order]) == auc(y, score)


@given(labelled_scores())
def test_swapped_labels_give_the_complement(case: tuple[np.ndarray, np.ndarray]) -> None:
    y, score = case
    assert counted(y, score) + counted(1 - y, score) == 1
    assert auc(1 - y, score) == float(1 - counted(y, score))


@pytest.mark.parametrize("levels", [2, 7, 1000, 10**9])
@pytest.mark.parametrize("rows", [10, 1000, 100_000])
def test_agrees_with_scikit_learn(rows: int, levels: int) -> None:
    rng = np.random.default_rng(rows + levels)
    y = (rng.random(rows) < 0.3).astype(np.uint8)
    y[:2] = 0, 1
    score = rng.integers(0, levels, rows) / 3 + y
    assert auc(y, score) == pytest.approx(roc_auc_score(y, score), abs=1e-13)


def test_many_rows_do_not_overflow_whole_numbers() -> None:
    y = np.repeat(np.array([0, 1], np.uint8), 300_000)
    assert auc(y, y.astype(np.float64)) == 1.0
    assert auc(y, np.zeros(len(y))) == 0.5


@pytest.mark.parametrize(
    ("y", "score", "message"),
    [
        ([0, 1, 1], [0.0, np.nan, 1.0], "NaN"),
        ([1, 1], [0.0, 1.0], "both labels"),
        ([0, 0], [0.0, 1.0], "both labels"),
        ([], [], "both labels"),
        ([0, 1, 2], [0.0, 1.0, 2.0], "0 or 1"),
        ([0, 1], [0.0, 1.0, 2.0], "alike"),
    ],
)
def test_refuses(y: list[int], score: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        auc(np.array(y, np.uint8), np.array(score, np.float64))
