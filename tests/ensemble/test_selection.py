"""Ensemble selection against loops over all candidates, scored by scikit-learn and by ourselves."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import label_binarize

from runner.ensemble.original import OriginalSelection
from runner.ensemble.selection import EnsembleSelection
from runner.metrics import METRICS


def library(
    rows: int,
    models: int,
    classes: int,
    seed: int = 0,
    decimals: int | None = None,
    rare: float = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Confidences of models of unlike skill, their predictions and the true classes."""
    rng = np.random.default_rng(seed)
    weights = np.full(classes, 1 / classes)
    if rare:
        weights = np.append(np.full(classes - 1, rare), 1 - rare * (classes - 1))
    y = rng.choice(classes, size=rows, p=weights).astype(np.int16)
    y[:classes] = np.arange(classes)
    skill = rng.uniform(0, 2, size=(models, 1, 1))
    scores = skill * np.eye(classes)[y] + rng.normal(size=(rows, classes)) / 2
    scores = scores + rng.normal(size=(models, rows, classes))
    shares = np.exp(scores)
    shares /= shares.sum(axis=2, keepdims=True)
    if decimals is not None:
        shares = np.round(shares, decimals)
    return shares, shares.argmax(axis=2).astype(np.int16), y


def greedily(confidences: np.ndarray, y: np.ndarray, iterations: int, metric: str) -> list[int]:
    """The models that a plain loop adds, the first of equals each time."""
    total = np.zeros(confidences.shape[1:])
    order: list[int] = []
    for size in range(1, iterations + 1):
        means = [(total + one) / size for one in confidences]
        scores = [METRICS[metric].score(y, mean.argmax(axis=1), mean) for mean in means]
        order.append(int(np.argmax(scores)))
        total += confidences[order[-1]]
    return order


SHAPES = [
    (12, 4, 2, None, 0),
    (300, 8, 2, None, 0),
    (300, 8, 2, 1, 0),
    (700, 6, 2, 2, 0.03),
    (60, 5, 3, 1, 0),
    (250, 5, 5, None, 0.05),
]


@pytest.mark.parametrize(("rows", "models", "classes", "decimals", "rare"), SHAPES)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_adds_what_a_plain_loop_adds(
    rows: int, models: int, classes: int, decimals: int | None, rare: float, kind: type
) -> None:
    confidences, predictions, y = library(rows, models, classes, rows, decimals, rare)
    confidences = confidences.astype(kind)
    # Equal models must tie, and the first one be taken.
    confidences[-1] = confidences[0]
    selection = EnsembleSelection(iterations=12).fit(confidences, predictions, y)
    assert selection.order_[0].tolist() == greedily(confidences, y, 12, "auc")
    mean = np.zeros(confidences.shape[1:])
    for size, model in enumerate(selection.order_[0], 1):
        mean += confidences[model]
        score = METRICS["auc"].score(y, predictions[0], mean / size)
        assert selection.scores_[0][size - 1] == score


@pytest.mark.parametrize("classes", [2, 4])
def test_reaches_what_scikit_learn_says(classes: int) -> None:
    confidences, predictions, y = library(200, 6, classes, 5)
    true = label_binarize(y, classes=np.arange(classes))
    total = np.zeros(confidences.shape[1:])
    selection = EnsembleSelection(iterations=8).fit(confidences, predictions, y)
    for size, reached in enumerate(selection.scores_[0], 1):
        means = [(total + one) / size for one in confidences]
        scores = [
            roc_auc_score(true, mean[:, 1] if classes == 2 else mean, average="weighted")
            for mean in means
        ]
        assert reached == pytest.approx(max(scores), abs=1e-12)
        total += confidences[selection.order_[0][size - 1]]


def test_the_first_two_are_the_best_pair_that_begins_with_the_best() -> None:
    confidences, predictions, y = library(80, 5, 2, 3)
    auc = METRICS["auc"].score
    alone = [auc(y, predictions[0], one) for one in confidences]
    pairs = {
        pair: auc(y, predictions[0], confidences[list(pair)].mean(axis=0))
        for pair in product(range(5), repeat=2)
        if pair[0] == int(np.argmax(alone))
    }
    selection = EnsembleSelection(iterations=2).fit(confidences, predictions, y)
    assert tuple(selection.order_[0]) == max(pairs, key=lambda pair: pairs[pair])


@pytest.mark.parametrize("metric", ["accuracy", "hard_auc", "neg_log_loss", "balanced_accuracy"])
def test_optimises_other_metrics(metric: str) -> None:
    confidences, predictions, y = library(90, 5, 3, 1)
    selection = EnsembleSelection(iterations=6, metric=metric).fit(confidences, predictions, y)
    assert selection.order_[0].tolist() == greedily(confidences, y, 6, metric)


def test_the_order_of_rows_does_not_matter() -> None:
    confidences, predictions, y = library(150, 7, 3, 2, 2)
    order = np.random.default_rng(0).permutation(150)
    one = EnsembleSelection().fit(confidences, predictions, y)
    other = EnsembleSelection().fit(confidences[:, order], predictions[:, order], y[order])
    assert one.order_[0].tolist() == other.order_[0].tolist()
    assert (
        one.predict(confidences, predictions)[order]
        == other.predict(confidences[:, order], predictions[:, order])
    ).all()


def test_predicts_the_mean_of_its_members() -> None:
    confidences, predictions, y = library(60, 5, 3, 4)
    selection = EnsembleSelection(iterations=10).fit(confidences, predictions, y)
    members = confidences[selection.order_[0]]
    assert selection.predict(confidences, predictions) == pytest.approx(members.mean(axis=0))
    assert selection.weights_.sum() == pytest.approx(1)


def test_use_best_keeps_the_smallest_of_the_best() -> None:
    confidences, predictions, y = library(100, 5, 2, 6)
    selection = EnsembleSelection(iterations=30, use_best=True).fit(confidences, predictions, y)
    kept = int(np.argmax(selection.scores_[0])) + 1
    shares = np.bincount(selection.order_[0][:kept], minlength=5) / kept
    assert selection.weights_.tolist() == shares.tolist()


def test_bags_average_selections_from_parts_of_the_models() -> None:
    confidences, predictions, y = library(100, 9, 2, 7)
    selection = EnsembleSelection(iterations=5, bags=4, bag_share=0.3, random_state=1)
    selection.fit(confidences, predictions, y)
    assert [len(set(order)) <= 3 for order in selection.order_] == [True] * 4
    shares = [np.bincount(order, minlength=9) / 5 for order in selection.order_]
    assert selection.weights_ == pytest.approx(np.mean(shares, axis=0))
    again = EnsembleSelection(iterations=5, bags=4, bag_share=0.3, random_state=1)
    assert (again.fit(confidences, predictions, y).weights_ == selection.weights_).all()


def test_random_ties_go_to_all_that_tie() -> None:
    confidences, predictions, y = library(50, 1, 2, 8)
    same = np.repeat(confidences, 6, axis=0)
    first = [
        int(
            EnsembleSelection(1, random_ties=True, random_state=seed)
            .fit(same, np.repeat(predictions, 6, axis=0), y)
            .order_[0][0]
        )
        for seed in range(60)
    ]
    assert set(first) == set(range(6))
    assert EnsembleSelection(3).fit(same, predictions, y).order_[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("value", [0.0, 0.5, 1e-300])
def test_constant_confidences_tie(value: float) -> None:
    y = np.array([0, 1, 1, 0], dtype=np.int16)
    confidences = np.full((3, 4, 2), value)
    confidences[2, :, 1] = [value, value + value, value, value]
    predictions = np.zeros((3, 4), dtype=np.int16)
    selection = EnsembleSelection(2).fit(confidences, predictions, y)
    assert selection.scores_[0][0] == (0.75 if value else 0.5)


def test_many_rows_in_one_bin_are_counted_exactly() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    crowded = 0.5 + rng.normal(size=600) * 1e-12
    crowded[0] = 1.0
    confidences = np.stack([1 - crowded, crowded], axis=1)[np.newaxis]
    selection = EnsembleSelection(1).fit(confidences, np.zeros((1, 600), np.int16), y)
    assert selection.scores_[0][0] == METRICS["auc"].score(y, y, confidences[0])


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_refuses_what_is_no_number(wrong: float) -> None:
    confidences, predictions, y = library(20, 2, 2)
    confidences[1, 3, 1] = wrong
    with pytest.raises(ValueError, match="finite"):
        EnsembleSelection(1).fit(confidences, predictions, y)


def test_refuses_rows_of_one_class() -> None:
    confidences, predictions, y = library(20, 2, 3)
    with pytest.raises(ValueError, match="two classes"):
        EnsembleSelection(1).fit(confidences, predictions, np.zeros_like(y))


def test_the_original_ties_are_those_of_scikit_learn() -> None:
    confidences, predictions, y = library(40, 8, 3, 9, 1)
    confidences = np.concatenate([confidences, confidences[:4]])
    state, plain = np.random.RandomState(3), np.random.RandomState(3)
    found = OriginalSelection(10, random_ties=True, random_state=state)
    found.fit(confidences, np.concatenate([predictions, predictions[:4]]), y)
    true = label_binarize(y, classes=np.arange(3))
    members: list[int] = []
    for _ in range(10):
        means = [np.mean(confidences[[*members, one]], axis=0) for one in range(12)]
        scores = np.array([roc_auc_score(true, mean, average="weighted") for mean in means])
        members.append(int(plain.choice(np.flatnonzero(scores == scores.max()))))
    assert found.order_[0].tolist() == members
    assert state.randint(2**31) == plain.randint(2**31)
