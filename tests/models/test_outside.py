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

from runner.errors import InputError
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


@pytest.mark.parametrize(
    "user",
    [
        "import HELPER",
        "from HELPER import help",
        "from HELPER import POWER",
        "from HELPER import *",
        "def late():\n    import HELPER",
        "def late():\n    from HELPER import POWER",
        "if False:\n    import HELPER as other",
    ],
)
def test_the_version_is_of_the_modules_that_it_imports_too(folder: Path, user: str) -> None:
    constants = module(folder, "POWER = 1")
    helper = module(folder, f"from {constants} import POWER\ndef help(): 1")
    name = module(folder, f"{user.replace('HELPER', helper)}\n{BODY}")
    seen = [version(folder, name)]
    (folder / f"{constants}.py").write_text("POWER = 2")
    seen.append(version(folder, name))
    (folder / f"{helper}.py").write_text(f"from {constants} import POWER\ndef help(): 2")
    seen.append(version(folder, name))
    assert len(set(seen)) == 3
    assert version(folder, name) == seen[-1]


def test_the_version_is_of_a_packages_modules(folder: Path) -> None:
    package = f"outside_{next(_numbers)}"
    inner = folder / package / "inner"
    inner.mkdir(parents=True)
    texts = {
        folder / package / "__init__.py": "SIZE = 1",
        folder / package / "constants.py": "POWER = 1",
        folder / package / "aside.py": "1",
        inner / "__init__.py": "",
        inner / "late.py": "1",
        inner / "model.py": "from .. import SIZE, constants\n"
        "from ..constants import POWER\n"
        "def late():\n    from . import late, missing\n    from ..... import nowhere\n" + BODY,
    }
    for file, text in texts.items():
        file.write_text(text)
    seen = [version(folder, f"{package}.inner.model")]
    for file, text in texts.items():
        file.write_text(text + "\n# changed\n")
        seen.append(version(folder, f"{package}.inner.model"))
    aside = 1 + list(texts).index(folder / package / "aside.py")
    assert seen[aside] == seen[aside - 1]
    assert len(set(seen)) == len(texts)


def test_what_a_function_imports_is_not_run(folder: Path) -> None:
    bad = module(folder, "raise SystemExit('imported')")
    name = module(folder, f"def late():\n    import {bad}\n{BODY}")
    version(folder, name)
    assert bad not in sys.modules


def test_a_class_may_be_named_by_a_module_that_changes_it(folder: Path) -> None:
    home = module(folder, BODY)
    name = module(folder, f"from {home} import C\nC.power = 1\n")
    before = version(folder, name)
    (folder / f"{name}.py").write_text(f"from {home} import C\nC.power = 2\n")
    assert version(folder, name) != before


def test_a_key_rests_on_the_distributions_that_a_module_imports(folder: Path) -> None:
    text = "import json\nimport lightgbm\nfrom scipy.special import expit\n"
    late = "def late():\n    from xgboost import train\n"
    helper = module(folder, "from pandas import NA")
    name = module(folder, f"{text}import {helper}\n{late}{BODY}")
    assert loaded(folder, name).libraries == ("lightgbm", "pandas", "scipy", "xgboost")
    forest = OutsideClass.load("sklearn.ensemble:RandomForestClassifier")
    assert forest.family(name="f", grid={}).libraries == ("scikit-learn",)


def test_the_study_hides_no_installed_package(folder: Path) -> None:
    (folder / "sklearn.py").write_text(BODY)
    found = OutsideClass.load("sklearn.ensemble:RandomForestClassifier", folder).found
    assert found is RandomForestClassifier


BOOSTED = "runner.models.boosted_trees:BoostedTrees"
NETWORK = "runner.models.neural_network:NeuralNetwork"
FOREST = "sklearn.ensemble:RandomForestClassifier"


@pytest.mark.parametrize(
    ("origin", "grid", "message"),
    [
        (BOOSTED, {"leaves": []}, "BoostedTrees: leaves has no values; give at least one"),
        (BOOSTED, {"leaves": ["abc"]}, "leaves must be a whole number from 2 .*, not 'abc'"),
        (BOOSTED, {"leaves": [8, 1]}, "leaves must be a whole number from 2 .*, not 1"),
        (BOOSTED, {"leaves": [8, 8.0]}, "leaves must be a whole number from 2 .*, not 8.0"),
        (BOOSTED, {"learning_rate": [1, 1.0]}, "learning_rate has 1.0 twice; give it once"),
        (BOOSTED, {"trees": [0]}, "trees must be a whole number from 1"),
        (NETWORK, {"loss": ["hinge"]}, "loss must be 'cross_entropy' or 'squared_error'"),
        (FOREST, {"n_estimators": []}, "n_estimators has no values"),
        (FOREST, {"max_features": [np.inf]}, "max_features must be a finite number, not inf"),
        (FOREST, {"max_features": [{}]}, "max_features must be a single value, not {}"),
        (FOREST, {"max_features": [None, None]}, "max_features has None twice"),
        (FOREST, {"max_feature": [1]}, "no parameter 'max_feature': did you mean 'max_features'"),
    ],
)
def test_wrong_grids_are_told(origin: str, grid: dict[str, Any], message: str) -> None:
    found = OutsideClass.load(origin)
    with pytest.raises(InputError, match=message):
        found.family(name="one", grid=grid)


def test_values_equal_to_python_only_are_several() -> None:
    values: list[Any] = [1, 1.0, True, "1", None, 10**400]
    forest = OutsideClass.load(FOREST).family(name="f", grid={"max_features": values})
    assert [repr(one["max_features"]) for _, one in forest.configurations()] == list(
        map(repr, values)
    )
