from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold, train_test_split

from runner.data import FileSource, Split, Task, TaskError, load, split


def task_of(y: np.ndarray, given_test: int = 0) -> Task:
    n = len(y)
    return Task(
        name="t",
        fingerprint="",
        columns=(),
        numeric=np.zeros((n, 0)),
        categorical=np.zeros((n, 0), dtype=np.int32),
        y=np.asarray(y, dtype=np.uint8),
        positive="p",
        negative="n",
        given_test=given_test,
    )


def _folds_of(y: np.ndarray, rows: np.ndarray, folds: int, seed: int) -> np.ndarray:
    fold = np.full(len(y), -1)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for k, (_, test) in enumerate(splitter.split(rows, y[rows])):
        fold[rows[test]] = k
    return fold


@settings(max_examples=50, deadline=None)
@given(
    positives=st.integers(10, 60),
    negatives=st.integers(10, 60),
    folds=st.integers(2, 5),
    holdout=st.floats(0.1, 0.4),
    seed=st.integers(0, 2**32 - 1),
    order=st.randoms(use_true_random=False),
)
def test_against_scikit_learn(
    positives: int, negatives: int, folds: int, holdout: float, seed: int, order: object
) -> None:
    y = np.array([1] * positives + [0] * negatives)
    order.shuffle(y)  # type: ignore[attr-defined]
    train, test = train_test_split(
        np.arange(len(y)), test_size=holdout, stratify=y, random_state=seed
    )
    found = split(task_of(y), folds=folds, holdout=holdout, seed=seed)
    np.testing.assert_array_equal(found.train_rows, np.sort(train))
    np.testing.assert_array_equal(found.test_rows, np.sort(test))
    np.testing.assert_array_equal(found.fold, _folds_of(y, found.train_rows, folds, seed))
    counts = [np.bincount(y[found.fold == k], minlength=2) for k in range(folds)]
    assert np.ptp(counts, axis=0).max() <= 1


def test_given_test_rows_are_kept_apart() -> None:
    y = np.array([0, 1] * 20)
    found = split(task_of(y, given_test=7), folds=3, holdout=0.5, seed=4)
    assert list(found.test_rows) == list(range(33, 40))
    np.testing.assert_array_equal(found.fold, _folds_of(y, np.arange(33), 3, 4))
    assert (found.fold[33:] == -1).all()


def test_the_seed_decides() -> None:
    y = np.array([0, 1] * 50)

    def fold(seed: int) -> Split:
        return split(task_of(y), folds=5, holdout=0.2, seed=seed)

    np.testing.assert_array_equal(fold(1).fold, fold(1).fold)
    assert (fold(1).fold != fold(2).fold).any()


@settings(max_examples=100, deadline=None)
@given(rare=st.integers(1, 12), folds=st.integers(2, 10), holdout=st.floats(0.05, 0.8))
def test_too_few_rows_of_a_class(rare: int, folds: int, holdout: float) -> None:
    """Either an error that says so, or rows of both classes wherever they are needed."""
    y = np.array([1] * rare + [0] * 40)
    try:
        found = split(task_of(y), folds=folds, holdout=holdout, seed=0)
    except TaskError as error:
        refused = error.key, re.match(r"(\d+ rows, )?class '[pn]' has \d+ row", error.message)
    else:
        refused = None
        assert np.bincount(y[found.test_rows], minlength=2).min() >= 1
        for k in range(folds):
            assert np.bincount(y[found.fold == k], minlength=2).min() >= 1
    assert refused is None or all(refused)


def test_an_error_counts_and_says_what_to_do() -> None:
    with pytest.raises(TaskError, match="class 'p' has 3 rows, fewer than the 5 folds"):
        split(task_of([1] * 3 + [0] * 30 + [0, 1], given_test=2), folds=5, holdout=0.2, seed=0)


def test_a_real_set_keeps_its_shares() -> None:
    path = Path(__file__).parent / "credit-g.parquet"
    task = load(FileSource(path, "class"), "t")
    found = split(task, folds=5, holdout=0.2, seed=0)
    assert (task.positive, len(found.train_rows), len(found.test_rows)) == ("bad", 800, 200)
    assert task.y[found.test_rows].mean() == 0.3
    assert {float(task.y[found.fold == k].mean()) for k in range(5)} == {0.3}
