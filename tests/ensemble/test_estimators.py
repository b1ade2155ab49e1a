"""Stored predictions in the hands of scikit-learn and DESlib."""

from __future__ import annotations

import numpy as np
import pytest
from deslib.des.knora_u import KNORAU
from deslib.static.oracle import Oracle
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression

from runner.ensemble.estimators import (
    StoredClassifier,
    row_numbers,
    stored_classifiers,
    with_row_numbers,
)
from runner.ensemble.knora import adapted
from runner.ensemble.stacking import Stacking
from runner.ensemble.voting import Voting
from runner.metatask import Metatask

Data = tuple[list[tuple[str, StoredClassifier]], np.ndarray, np.ndarray]


@pytest.fixture(params=["metatask", "binary"])
def one(request: pytest.FixtureRequest) -> Metatask:
    found: Metatask = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def data(one: Metatask) -> Data:
    """The estimators, features of which many rows are alike, and labels as text."""
    rows = np.arange(len(one.labels))
    X = with_row_numbers(np.random.default_rng(0).integers(0, 2, (len(rows), 2)), rows)
    return stored_classifiers(one), X, np.array(one.classes)[one.labels]


def test_look_up_what_was_stored(one: Metatask, data: Data) -> None:
    models, X, _ = data
    order = np.random.default_rng(1).permutation(len(X))[:50]
    for place, (name, model) in enumerate(models):
        assert name == one.models[place].name
        assert (model.predict_proba(X[order]) == one.tested.confidences[place, order]).all()
        labels = np.array(one.classes)[one.tested.predictions[place, order]]
        assert (model.predict(X[order]) == labels).all()
        assert model.score(X, np.array(one.classes)[one.labels]) == np.mean(
            one.tested.predictions[place] == one.labels
        )


def test_stack_in_scikit_learn_as_in_ours(one: Metatask, data: Data) -> None:
    models, X, y = data
    learnt, asked = np.arange(0, 120), np.arange(120, 240)
    final = LogisticRegression(max_iter=1000)
    stack = StackingClassifier(models, final, cv="prefit").fit(X[learnt], y[learnt])
    stored = one.tested
    ours = Stacking().fit(
        stored.confidences[:, learnt], stored.predictions[:, learnt], one.labels[learnt]
    )
    expected = ours.predict(stored.confidences[:, asked], stored.predictions[:, asked])
    assert stack.predict_proba(X[asked]) == pytest.approx(expected, abs=1e-9)
    through = StackingClassifier(models, final, cv="prefit", passthrough=True)
    assert through.fit(X[learnt], y[learnt]).predict(X[asked]).shape == (120,)


@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_vote_in_scikit_learn_as_in_ours(kind: str, one: Metatask, data: Data) -> None:
    models, X, y = data
    voting = VotingClassifier(models, voting=kind).fit(X[:100], y[:100])
    shares = Voting(kind).predict(one.tested.confidences, one.tested.predictions)
    expected = np.array(one.classes)[np.asarray(shares).argmax(axis=1)]
    assert (voting.predict(X) == expected).all()


def test_deslib_runs_on_them(one: Metatask, data: Data) -> None:
    models, X, _ = data
    y = one.labels
    pool = [model.fit(X, y) for _, model in models]
    selector = adapted(KNORAU)(pool, k=5, n_jobs=1).fit(X[:120], y[:120])
    assert np.mean(selector.predict(X[120:]) == y[120:]) > 0.5
    oracle = adapted(Oracle)(pool, n_jobs=1).fit(X[:120], y[:120])
    right = (one.tested.predictions[:, 120:] == one.labels[120:]).any(axis=0)
    assert oracle.score(X[120:], y[120:]) == pytest.approx(right.mean())


def test_clones_share_the_predictions(data: Data) -> None:
    model = data[0][0][1]
    assert clone(model).library is model.library


def test_learn_what_classes_are_called(one: Metatask, data: Data) -> None:
    models, X, _ = data
    called = np.array([30, 20, 10])[one.labels]
    model = clone(models[0][1]).fit(X, called)
    assert model.classes_.tolist() == sorted(set(called.tolist()))
    backwards = one.tested.confidences[0][:, ::-1]
    assert (model.predict_proba(X) == backwards).all()
    assert (model.predict(X) == np.array([30, 20, 10])[one.tested.predictions[0]]).all()
    with pytest.raises(ValueError, match="stands for rows of"):
        clone(model).fit(X, np.zeros(len(X)))


def test_a_class_without_a_name_is_never_predicted(metatask: Metatask) -> None:
    X = with_row_numbers(np.zeros((240, 1)), np.arange(240))
    keep = metatask.labels != 0
    model = stored_classifiers(metatask)[2][1].fit(X[keep], metatask.labels[keep])
    assert set(model.predict(X).tolist()) == {1, 2}
    assert model.predict_proba(X).shape == (240, 2)


def test_rows_that_are_not_stored_are_told(data: Data) -> None:
    models, X, _ = data
    beyond = with_row_numbers(X[:1, :-1], [1000])
    with pytest.raises(ValueError, match="row 1000 has no stored predictions"):
        models[0][1].predict(beyond)
    with pytest.raises(ValueError, match="no row numbers"):
        models[0][1].predict(X[:, :-1] + 0.5)


def test_row_numbers_survive_scaling_by_nothing_but_themselves() -> None:
    numbers = np.array([0, 1, 7, 2**40])
    X = with_row_numbers(np.ones((4, 2)), numbers)
    assert (row_numbers(X) == numbers).all()
    assert np.abs(X[:, -1]).max() < 1e-5
