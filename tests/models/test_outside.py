"""Classes from outside the package: how they are fitted, how they score, what their keys hold."""

from __future__ import annotations

import itertools
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.utils.estimator_checks import check_estimator

from runner.models import Family, OutsideClass, family
from runner.models.whole_fit import WholeFit

Data = tuple[np.ndarray, np.ndarray]
_numbers = itertools.count()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before


def outside(origin: str, **grid: Any) -> Family:
    found = OutsideClass.load(origin)
    return found.family(name=found.name, grid={name: [value] for name, value in grid.items()})


def made(one: Family, seed: int = 3, threads: int = 1) -> Any:
    return one.estimator(one.configurations()[0][1], seed=seed, threads=threads)


def test_a_forest_scores_as_scikit_learn_has_it(breast_cancer: Data) -> None:
    X, y = breast_cancer
    model = made(outside("sklearn.ensemble:RandomForestClassifier", n_estimators=7)).fit(X, y)
    peer = RandomForestClassifier(7, random_state=3).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), peer.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(model.predict_proba(X), peer.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))


def test_a_margin_comes_before_a_probability(breast_cancer: Data) -> None:
    X, y = breast_cancer
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    names = np.array(["no", "yes"])[y]
    model = made(outside("sklearn.linear_model:LogisticRegression", C=0.5)).fit(X, names)
    peer = LogisticRegression(C=0.5).fit(X, names)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), rtol=1e-9)
    assert (model.predict(X) == peer.predict(X)).all()
    machine = made(outside("sklearn.linear_model:SGDClassifier")).fit(X, names)
    hinge = SGDClassifier(random_state=3).fit(X, names)
    np.testing.assert_array_equal(machine.decision_function(X), hinge.decision_function(X))
    chances = machine.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert (np.diff(chances[np.argsort(hinge.decision_function(X)), 1]) >= 0).all()


def test_seed_and_threads_go_where_the_grid_leaves_them() -> None:
    free = made(outside("sklearn.ensemble:RandomForestClassifier"), seed=9, threads=2).estimator
    assert (free.random_state, free.n_jobs) == (9, 2)
    given = outside("sklearn.ensemble:RandomForestClassifier", random_state=1, n_jobs=1)
    alone = made(outside("sklearn.ensemble:RandomForestClassifier"), threads=1).estimator
    assert alone.n_jobs in (None, 1)
    kept = made(given, seed=9, threads=2).estimator
    assert (kept.random_state, kept.n_jobs) == (1, 1)
    ours = made(outside("runner.models.boosted_trees:BoostedTrees"), seed=9, threads=2)
    assert (ours.random_state, ours.threads) == (9, 2)


def test_our_own_class_from_outside_equals_the_family(breast_cancer: Data) -> None:
    X, y = breast_cancer
    own = outside("runner.models.boosted_trees:BoostedTrees", leaves=8, min_leaf=5)
    bdt = family("C-BDT")
    values = {name: parameter.default for name, parameter in bdt.parameters.items()}
    values |= {"leaves": 8, "min_leaf": 5}
    ours = bdt.estimator(values, seed=3, threads=1).fit(X, y).decision_function(X)
    assert made(own).fit(X, y).decision_function(X).tobytes() == ours.tobytes()
    assert own.shared == bdt.shared
    assert own.configurations()[0][1] == {"leaves": 8, "min_leaf": 5, "trees": 100}


def test_a_family_travels_as_the_name_of_its_class() -> None:
    one = outside("sklearn.ensemble:RandomForestClassifier", n_estimators=7)
    packed = pickle.dumps(one)
    assert len(packed) < 1500
    assert pickle.loads(packed) == one


def test_a_whole_fit_is_a_scikit_learn_classifier() -> None:
    assert len(check_estimator(WholeFit(LogisticRegression()), on_skip=None)) > 40


class Column:
    """Scores by its first column; has no methods that scikit-learn would give it."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        assert set(y) == {0, 1}

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return X[:, 0]


class Wide(Column):
    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return X


def test_a_class_needs_no_scikit_learn(breast_cancer: Data) -> None:
    X, y = breast_cancer
    model = WholeFit(Column()).fit(X - 10, np.array(["a", "b"])[y])
    np.testing.assert_array_equal(model.decision_function(X - 10), X[:, 0] - 10)
    assert set(model.predict(X - 10)) == {"a", "b"}
    with pytest.raises(ValueError, match=r"Wide gave scores of shape \(569, 30\), not \(569,\)"):
        WholeFit(Wide()).fit(X, y).decision_function(X)


def module(folder: Path, text: str) -> str:
    name = f"outside_{next(_numbers)}"
    (folder / f"{name}.py").write_text(text)
    return name


BODY = """
class C:
    def fit(self, X, y): pass
    def predict_proba(self, X): pass
"""


def version(folder: Path, name: str) -> int | str:
    return loaded(folder, name).version


def loaded(folder: Path, name: str) -> Family:
    return OutsideClass.load(f"{name}:C", folder).family(name="c", grid={})


def test_the_version_is_of_the_source(folder: Path) -> None:
    one, same, other = (module(folder, text) for text in (BODY, BODY, BODY + "# changed\n"))
    assert version(folder, one) == version(folder, same) != version(folder, other)


def test_the_version_is_of_the_modules_that_it_imports_too(folder: Path) -> None:
    helper = module(folder, "def help(): 1")
    users = [
        module(folder, f"{text}\n{BODY}")
        for text in (f"import {helper}", f"from {helper} import help")
    ]
    before = [version(folder, user) for user in users]
    (folder / f"{helper}.py").write_text("def help(): 2")
    after = [version(folder, user) for user in users]
    assert all(old != new for old, new in zip(before, after, strict=True))


def test_a_key_rests_on_the_distributions_that_a_module_imports(folder: Path) -> None:
    name = module(folder, "import json\nimport lightgbm\nfrom scipy.stats import norm\n" + BODY)
    assert loaded(folder, name).libraries == ("lightgbm", "scipy")
    forest = OutsideClass.load("sklearn.ensemble:RandomForestClassifier")
    assert forest.family(name="f", grid={}).libraries == ("scikit-learn",)


def test_the_study_hides_no_installed_package(folder: Path) -> None:
    (folder / "sklearn.py").write_text(BODY)
    found = OutsideClass.load("sklearn.ensemble:RandomForestClassifier", folder).found
    assert found is RandomForestClassifier
