"""Which rows are learnt from and scored, how features become numbers, and what answers score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.preprocessing import OneHotEncoder

from runner.ensemble.features import ORIGINAL_ENCODING, encode
from runner.ensemble.protocols import (
    CORRECTED,
    VALIDATION,
    answer_of,
    halves,
    run,
    score,
    stratified_half,
    technique_seed,
)
from runner.ensemble.registry import TECHNIQUES
from runner.ensemble.technique import Answer, Part
from runner.ensemble.work import naming_models
from runner.errors import InputError
from runner.metatask import Metatask, Stored


def test_halves_part_a_fold_by_class(metatask: Metatask) -> None:
    seen: list[np.ndarray] = []
    for fold in metatask.fold_numbers:
        parts = halves(metatask, fold, CORRECTED)
        rows = np.flatnonzero(metatask.folds == fold)
        learnt = np.setdiff1d(rows, parts.rows)
        assert (np.sort(parts.rows) == parts.rows).all()
        assert (metatask.labels[learnt] == parts.fit.y).all()
        assert (metatask.labels[parts.rows] == parts.score.y).all()
        assert (metatask.tested.confidences[:, parts.rows] == parts.score.confidences).all()
        assert (metatask.tested.predictions[:, learnt] == parts.fit.predictions).all()
        counts = [np.bincount(part.y, minlength=3) for part in (parts.fit, parts.score)]
        assert np.abs(counts[0] - counts[1]).max() <= 1
        assert abs(len(learnt) - len(parts.rows)) <= 1
        seen.append(parts.rows)
    assert (halves(metatask, 1, CORRECTED).rows == seen[1]).all()
    assert (halves(metatask, 1, CORRECTED, seed=1).rows != seen[1]).any()


def test_a_class_of_one_row_can_be_parted() -> None:
    first = stratified_half(np.array([0, 1, 2, 2, 1, 1, 3]), 0)
    assert first.sum() in (3, 4)


def test_validation_learns_from_what_the_models_said_of_training_rows(metatask: Metatask) -> None:
    parts = halves(metatask, 2, VALIDATION, features=True)
    assert (parts.rows == np.flatnonzero(metatask.folds == 2)).all()
    assert (parts.fit.y == metatask.labels[metatask.folds != 2]).all()
    assert parts.fit.X is not None
    assert parts.fit.X.shape == (180, 2 + 4)
    without = replace(metatask, validation={})
    with pytest.raises(InputError, match="no validation predictions of fold 2"):
        halves(without, 2, VALIDATION)


def test_rows_of_one_class_are_refused(metatask: Metatask) -> None:
    alone = replace(metatask, labels=np.zeros_like(metatask.labels))
    with pytest.raises(InputError, match="fewer than two classes"):
        halves(alone, 0, CORRECTED)


def test_seeds_differ_by_task_fold_and_technique() -> None:
    seeds = {
        technique_seed(seed, task, fold, name)
        for seed in (0, 1)
        for task in ("31", "37")
        for fold in (0, 1)
        for name in ("ES", "DES")
    }
    assert len(seeds) == 16
    assert technique_seed(0, "31", 0, "ES") == 337794711


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "grade": pa.array(rng.choice(["a", "b", "c"], 60), mask=rng.random(60) < 0.2),
            "size": pa.array(rng.normal(size=60), mask=rng.random(60) < 0.2),
            "code": pa.array(rng.integers(0, 4, 60)),
            "sort": pa.array(rng.choice(["x", "y"], 60)).dictionary_encode(),
        }
    )


def test_the_originals_features_are_scikit_learns(table: pa.Table) -> None:
    fitted, asked = np.arange(0, 40), np.arange(40, 60)
    ours = encode(table, ("grade", "sort"), fitted, asked, ORIGINAL_ENCODING)
    frame = table.to_pandas()
    one_hot = OneHotEncoder(handle_unknown="ignore", drop="first")
    one_hot.fit(frame.loc[fitted, ["grade", "sort"]])
    for rows, found in zip((fitted, asked), ours, strict=True):
        numbers = frame.loc[rows, ["size", "code"]].fillna(-1).to_numpy()
        categories = one_hot.transform(frame.loc[rows, ["grade", "sort"]]).toarray()
        assert (found == np.hstack([numbers, categories])).all()


def test_gaps_are_a_value_below_all_others(table: pa.Table) -> None:
    rows = np.arange(60)
    found, _ = encode(table, ("grade", "sort"), rows, rows)
    size = table.column("size").to_pandas()
    assert (found[size.isna(), 0] == size.min() - 1).all()
    assert found.shape == (60, 2 + 4 + 2)
    assert (found[:, 2:6].sum(axis=1) == 1).all()


def test_unknown_categories_are_zeros() -> None:
    table = pa.table({"word": ["a", "b", "c"]})
    _, asked = encode(table, ("word",), np.array([0, 1]), np.array([2, 1]))
    assert asked.tolist() == [[0, 0], [0, 1]]


def test_metrics_are_scikit_learns(metatask: Metatask, binary: Metatask) -> None:
    for one in (metatask, binary):
        y, stored, classes = one.labels, one.tested, len(one.classes)
        for hard, soft in zip(stored.predictions, stored.confidences, strict=True):
            answer = Answer(hard, soft)
            indicator = np.eye(classes)[y]
            weighted = {"average": "weighted", "multi_class": "ovr"}
            expected = {
                "auc": roc_auc_score(indicator, soft, **weighted),
                "hard_auc": roc_auc_score(indicator, np.eye(classes)[hard], **weighted),
                "accuracy": np.mean(hard == y),
                "balanced_accuracy": balanced_accuracy_score(y, hard),
                "neg_log_loss": -log_loss(y, soft),
            }
            for metric, value in expected.items():
                assert score(metric, y, answer, classes) == pytest.approx(value, abs=1e-12)
            assert score("auc", y, Answer(hard), classes) == pytest.approx(expected["hard_auc"])


def test_a_class_without_rows_has_no_weight() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 50).astype(np.int16)
    soft = rng.dirichlet(np.ones(3), 50)
    present = roc_auc_score(np.eye(3)[y][:, :2], soft[:, :2], average="weighted")
    hard = soft.argmax(axis=1).astype(np.int16)
    assert score("auc", y, Answer(hard, soft), 3) == pytest.approx(present)
    recalls = [np.mean(hard[y == one] == one) for one in (0, 1)]
    assert score("balanced_accuracy", y, Answer(hard, soft), 3) == pytest.approx(np.mean(recalls))


@pytest.mark.parametrize("said", [np.zeros(3), np.zeros((2, 3)), np.array([0, 1, 2, 3])])
def test_answers_of_another_shape_are_refused(said: np.ndarray) -> None:
    with pytest.raises(ValueError, match="must return"):
        answer_of(said, 4, 3)


def test_a_technique_may_answer_in_classes_or_in_confidences() -> None:
    assert answer_of(np.array([2, 0]), 2, 3).confidences is None
    assert answer_of(np.array([[0.1, 0.9], [0.5, 0.5]]), 2, 2).predictions.tolist() == [1, 0]


class Stubborn:
    """A user's technique, which knows nothing of the package."""

    def fit(self, confidences, predictions, y, X=None):  # type: ignore[no-untyped-def]
        self.most = np.bincount(y).argmax()

    def predict(self, confidences, predictions, X=None):  # type: ignore[no-untyped-def]
        return np.full(predictions.shape[1], self.most)


def test_a_users_technique_runs(metatask: Metatask) -> None:
    parts = halves(metatask, 0, CORRECTED)
    found = run(Stubborn(), parts.fit, parts.score)
    assert (found.answer.predictions == np.bincount(parts.fit.y).argmax()).all()
    assert found.fit_seconds >= 0


class Tempted(Stubborn):
    """It learns, and could answer as an oracle."""

    def answer(self, part: Part) -> Answer:
        return Answer(part.y)


def test_what_learns_is_no_oracle(metatask: Metatask) -> None:
    parts = halves(metatask, 0, CORRECTED)
    assert (run(Tempted(), parts.fit, parts.score).answer.predictions != parts.score.y).any()


def test_a_fold_knows_nothing_of_the_others(metatask: Metatask) -> None:
    """Other folds' predictions can be anything: a fold's scores are its own."""
    noise = np.random.default_rng(0).permuted(metatask.tested.confidences, axis=1)
    keep = (metatask.folds == 1)[np.newaxis, :, np.newaxis]
    mixed = np.where(keep, metatask.tested.confidences, noise)
    other = replace(metatask, tested=replace(metatask.tested, confidences=mixed))
    for name in ("ES", "Stacking", "SBA"):
        said = []
        for one in (metatask, other):
            parts = halves(one, 1, CORRECTED)
            technique = TECHNIQUES[name].make({}, 0)
            said.append(run(technique, parts.fit, parts.score).answer.predictions)
        assert (said[0] == said[1]).all()


def test_parts_are_copies(metatask: Metatask) -> None:
    part: Part = halves(metatask, 0, CORRECTED).fit
    assert not np.shares_memory(part.confidences, metatask.tested.confidences)


def test_features_follow_their_rows(metatask: Metatask) -> None:
    parts = halves(metatask, 0, CORRECTED, features=True)
    x = pd.Series(metatask.features.column("x").to_numpy())
    assert parts.score.X is not None
    assert (parts.score.X[:, 0] == x[parts.rows].to_numpy()).all()


def test_a_library_that_wants_no_nan_is_told_of_with_the_model(metatask: Metatask) -> None:
    confidences = metatask.tested.confidences.copy()
    confidences[3, ::5, 0] = np.nan
    tested = Stored(metatask.tested.rows, metatask.tested.predictions, confidences)
    bad = replace(metatask, tested=tested)
    parts = halves(bad, 0, "corrected")
    technique = TECHNIQUES["Stacking"].make({})
    said = r"NaN.*: confidences of model 3 aren't numbers; `runner"
    with pytest.raises(ValueError, match=said), naming_models(bad):
        run(technique, parts.fit, parts.score)
    with pytest.raises(ValueError, match=r"^another fault$"), naming_models(metatask):
        raise ValueError("another fault")
