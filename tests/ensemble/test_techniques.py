"""One contract for all techniques, and what each one is by its definition."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from runner.ensemble.protocols import CORRECTED, Halves, halves, run, score
from runner.ensemble.registry import PAPER_TECHNIQUES, TECHNIQUES, listed
from runner.ensemble.technique import Answer, Part
from runner.errors import InputError
from runner.metatask import Metatask

ALL = sorted(TECHNIQUES)
QUICK = {"trees": 15, "iterations": 8}


def answered(name: str, parts: Halves, seed: int = 0, **parameters: object) -> Answer:
    listing = TECHNIQUES[name]
    quick = {key: value for key, value in QUICK.items() if key in listing.parameters}
    return run(listing.make({**quick, **parameters}, seed), parts.fit, parts.score).answer


def parts_of(metatask: Metatask, fold: int = 0) -> Halves:
    return halves(metatask, fold, CORRECTED, features=True)


def shuffled(part: Part, seed: int) -> tuple[Part, np.ndarray]:
    order = np.random.default_rng(seed).permutation(len(part.y))
    X = None if part.X is None else part.X[order]
    return Part(part.confidences[:, order], part.predictions[:, order], part.y[order], X), order


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", ["metatask", "binary"])
def test_answers_for_every_row(name: str, kind: str, request: pytest.FixtureRequest) -> None:
    metatask = request.getfixturevalue(kind)
    parts = parts_of(metatask)
    answer = answered(name, parts)
    rows, classes = len(parts.score.y), len(metatask.classes)
    assert answer.predictions.shape == (rows,)
    assert np.isin(answer.predictions, np.arange(classes)).all()
    assert answer.confidences is not None
    assert answer.confidences.shape == (rows, classes)
    assert answer.confidences.sum(axis=1) == pytest.approx(1)
    for metric in ("auc", "hard_auc", "accuracy"):
        assert score(metric, parts.score.y, answer, classes) > 0.5


@pytest.mark.parametrize("name", ALL)
def test_a_seed_decides_everything(name: str, metatask: Metatask) -> None:
    parts = parts_of(metatask)
    one, same, other = (answered(name, parts, seed) for seed in (1, 1, 2))
    assert (one.predictions == same.predictions).all()
    assert (one.confidences == same.confidences).all()
    if not TECHNIQUES[name].seeded:
        assert (one.confidences == other.confidences).all()


@pytest.mark.parametrize("name", ALL)
def test_each_row_is_answered_for_itself(name: str, metatask: Metatask) -> None:
    """The order of the rows asked for doesn't matter, and an oracle's alone that of its own."""
    parts = parts_of(metatask)
    other, order = shuffled(parts.score, 3)
    one, moved = answered(name, parts), answered(name, replace(parts, score=other))
    assert one.confidences is not None
    assert moved.confidences == pytest.approx(one.confidences[order], abs=1e-3)
    assert (moved.predictions == one.predictions[order]).all()


@pytest.mark.parametrize("name", [name for name in ALL if not TECHNIQUES[name].oracle])
def test_the_rows_asked_for_are_not_learnt_from(name: str, metatask: Metatask) -> None:
    parts = parts_of(metatask)
    lying = replace(parts.score, y=np.zeros_like(parts.score.y))
    one, other = answered(name, parts), answered(name, replace(parts, score=lying))
    assert (one.confidences == other.confidences).all()


@pytest.mark.parametrize("name", ALL)
def test_a_class_that_is_not_learnt_is_answered_for(name: str, metatask: Metatask) -> None:
    parts = parts_of(metatask)
    keep = parts.fit.y != 1
    assert parts.fit.X is not None
    fit = Part(
        parts.fit.confidences[:, keep],
        parts.fit.predictions[:, keep],
        parts.fit.y[keep],
        parts.fit.X[keep],
    )
    answer = answered(name, replace(parts, fit=fit))
    assert answer.confidences is not None
    assert answer.confidences.shape == (len(parts.score.y), 3)


@pytest.mark.parametrize("name", ALL)
def test_one_model_alone_is_an_ensemble(name: str, metatask: Metatask) -> None:
    parts = parts_of(metatask)
    fit, asked = (
        replace(part, confidences=part.confidences[:1], predictions=part.predictions[:1])
        for part in (parts.fit, parts.score)
    )
    answer = answered(name, replace(parts, fit=fit, score=asked))
    if name not in ("Stacking", "VBE", "ES"):
        assert (answer.predictions == asked.predictions[0]).all()


def test_no_technique_beats_the_virtual_best_model(metatask: Metatask) -> None:
    for fold in metatask.fold_numbers:
        parts = parts_of(metatask, fold)
        by_name = {
            name: score("accuracy", parts.score.y, answered(name, parts), 3)
            for name in PAPER_TECHNIQUES
            if name != "VBE"
        }
        assert max(by_name, key=lambda name: by_name[name]) == "VBA"


def test_the_single_best_model_is_the_one_that_scikit_learn_scores_best(binary: Metatask) -> None:
    parts = parts_of(binary)
    fit = parts.fit
    soft = [roc_auc_score(fit.y, one[:, 1]) for one in fit.confidences]
    hard = [roc_auc_score(fit.y, one) for one in fit.predictions]
    for metric, scores in (("auc", soft), ("hard_auc", hard)):
        answer = answered("SBA", parts, metric=metric)
        assert (answer.predictions == parts.score.predictions[int(np.argmax(scores))]).all()


def test_the_virtual_best_model_is_right_wherever_one_is(metatask: Metatask) -> None:
    parts = parts_of(metatask)
    asked = parts.score
    answer = answered("VBA", parts)
    assert answer.confidences is not None
    for row, true in enumerate(asked.y):
        right = np.flatnonzero(asked.predictions[:, row] == true)
        among = right if len(right) else np.arange(len(asked.predictions))
        model = among[np.argmax(asked.confidences[among, row, true])]
        assert answer.predictions[row] == asked.predictions[model, row]
        assert (answer.confidences[row] == asked.confidences[model, row]).all()


def test_most_votes_win_and_ties_go_to_the_first_class(metatask: Metatask) -> None:
    parts = parts_of(metatask)
    answer = answered("Voting", parts)
    for row, votes in enumerate(parts.score.predictions.T):
        most = Counter(votes.tolist())
        assert answer.predictions[row] == min(most, key=lambda one: (-most[one], one))


def test_soft_votes_are_averaged(metatask: Metatask) -> None:
    parts = parts_of(metatask)
    answer = answered("Voting", parts, kind="soft")
    assert answer.confidences == pytest.approx(parts.score.confidences.mean(axis=0))


def test_those_chosen_may_be_averaged(metatask: Metatask) -> None:
    parts = parts_of(metatask)
    every = answered("DES", parts, kind="soft", share=1.0)
    assert every.confidences == pytest.approx(parts.score.confidences.mean(axis=0))
    few = answered("DES", parts, kind="soft", share=1e-9)
    assert (few.confidences == answered("DCS", parts).confidences).all()


@pytest.mark.parametrize("kind", ["metatask", "binary"])
def test_stacking_is_a_logistic_regression(kind: str, request: pytest.FixtureRequest) -> None:
    parts = parts_of(request.getfixturevalue(kind))
    first = 1 if kind == "binary" else 0

    def inputs(part: Part) -> np.ndarray:
        return np.hstack([one[:, first:] for one in part.confidences])

    model = LogisticRegression(max_iter=1000).fit(inputs(parts.fit), parts.fit.y)
    assert answered("Stacking", parts).confidences == pytest.approx(
        model.predict_proba(inputs(parts.score))
    )
    best = LogisticRegression(max_iter=1000).fit(inputs(parts.score), parts.score.y)
    assert answered("VBE", parts).confidences == pytest.approx(
        best.predict_proba(inputs(parts.score))
    )


def test_stacking_can_use_the_features(metatask: Metatask) -> None:
    parts = parts_of(metatask)
    one, other = (answered("Stacking", parts, passthrough=use) for use in (False, True))
    assert (one.confidences != other.confidences).any()
    scaled = replace(
        parts,
        fit=replace(parts.fit, X=parts.fit.X * 1000 + 3),
        score=replace(parts.score, X=parts.score.X * 1000 + 3),
    )
    again = answered("Stacking", scaled, passthrough=True)
    assert again.confidences == pytest.approx(other.confidences, abs=1e-6)


@pytest.mark.parametrize("name", ["DCS", "DES", "KNORA-E", "KNORA-U"])
def test_dynamic_selection_finds_who_is_good_where(name: str, metatask: Metatask) -> None:
    """Models err on one side of a feature, so a good choice beats the best model by far."""
    gains = [
        score("accuracy", parts.score.y, answered(name, parts), 3)
        - score("accuracy", parts.score.y, answered("SBA", parts), 3)
        for parts in (parts_of(metatask, fold) for fold in metatask.fold_numbers)
    ]
    assert np.mean(gains) > 0.05


@pytest.mark.parametrize("name", ["DCS", "DES", "KNORA-E", "KNORA-U"])
def test_dynamic_selection_needs_features(name: str, metatask: Metatask) -> None:
    with pytest.raises(ValueError, match="features"):
        answered(name, halves(metatask, 0, CORRECTED))
    assert TECHNIQUES[name].needs_features({})


@pytest.mark.parametrize("name", ["DCS", "DES"])
def test_both_forests_choose_about_alike(name: str, metatask: Metatask) -> None:
    parts = parts_of(metatask)
    own, theirs = (
        score("auc", parts.score.y, answered(name, parts, trees=100, forest=forest), 3)
        for forest in ("own", "scikit-learn")
    )
    assert own == pytest.approx(theirs, abs=0.04)


def test_names_are_found_in_any_case_and_else_the_nearest_is_told() -> None:
    assert listed("knora-e").name == "KNORA-E"
    with pytest.raises(InputError, match="did you mean 'Stacking'"):
        listed("Stackin")


def test_parameters_are_checked() -> None:
    with pytest.raises(InputError, match=r"ES has no parameter 'iteration'.*'iterations'"):
        TECHNIQUES["ES"].make({"iteration": 3})
    with pytest.raises(InputError, match="hard or soft"):
        TECHNIQUES["Voting"].make({"kind": "loud"})
    with pytest.raises(InputError, match="scikit-learn"):
        TECHNIQUES["DES"].make({"forest": "black"})
    with pytest.raises(InputError, match="did you mean 'auc'"):
        TECHNIQUES["ES"].make({"metric": "auk"})
    with pytest.raises(InputError, match="at least 1"):
        TECHNIQUES["ES"].make({"iterations": 0})
