"""Users' own classes and default configurations among a study's systems."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from runner.config import SweepStudy, load_study
from runner.errors import InputError
from runner.models import FAMILIES
from runner.models.trial import try_import

CENTRES = """\
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

class Centres(ClassifierMixin, BaseEstimator):
    def __init__(self, shrink=0.0, power=2):
        self.shrink = shrink
        self.power = power

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]

class Mute(BaseEstimator):
    def fit(self, X, y):
        return self

class Demanding:
    def __init__(self, alpha):
        if alpha < 0:
            raise ValueError("alpha is negative")
    fit = predict_proba = print
"""
BROKEN = {
    "syntax": "def (",
    "raises": "1 / 0",
    "leaves": "raise SystemExit(3)",
    "needs": "import zz",
}
CLASS = "estimator: 'OWN:Centres'\n    NEXT"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[str]:
    """The name of a module beside the study, one in all tests: it is tried and imported once."""
    before = list(sys.path)
    name = "own_centres"
    (tmp_path / f"{name}.py").write_text(CENTRES)
    yield name
    sys.path[:] = before


def study(folder: Path, *systems: str) -> SweepStudy:
    path = folder / "study.yaml"
    lines = "\n".join(f"  - {system}" for system in systems)
    path.write_text(
        f"kind: sweep\nname: s\ntasks: [{{sklearn: breast_cancer}}]\nsystems:\n{lines}\n"
    )
    return load_study(path)


def complaint(folder: Path, *systems: str) -> tuple[int | None, str]:
    with pytest.raises(InputError) as caught:
        study(folder, *systems)
    assert caught.value.file == folder / "study.yaml"
    assert "\n" not in caught.value.message
    return caught.value.line, caught.value.message


def test_a_class_beside_the_study_is_a_system(tmp_path: Path, own: str) -> None:
    text = f"{{estimator: '{own}:Centres', name: mine, grid: {{shrink: [0, 0.5]}}, linear: true}}"
    (entry,) = study(tmp_path, text).systems
    assert entry.name == "mine"
    assert entry.family.linear
    assert entry.family.origin == f"{own}:Centres"
    assert entry.configurations == ((0, {"shrink": 0}), (1, {"shrink": 0.5}))


def test_the_last_parameter_varies_fastest(tmp_path: Path, own: str) -> None:
    text = f"{{estimator: '{own}:Centres', grid: {{shrink: [0, 1], power: [2, 3]}}}}"
    (entry,) = study(tmp_path, text).systems
    assert entry.name == "Centres"
    assert [tuple(v.values()) for _, v in entry.configurations] == [(0, 2), (0, 3), (1, 2), (1, 3)]


def test_values_that_only_python_calls_equal_are_several(tmp_path: Path) -> None:
    forest = "sklearn.ensemble:RandomForestClassifier"
    text = f"{{estimator: '{forest}', grid: {{max_features: [1, 1.0, sqrt, null]}}}}"
    (entry,) = study(tmp_path, text).systems
    assert repr(entry.configurations) == repr(
        tuple((i, {"max_features": value}) for i, value in enumerate([1, 1.0, "sqrt", None]))
    )
    assert len(entry.family.fits(entry.configurations)) == 4


def test_without_a_grid_there_is_one_configuration(tmp_path: Path, own: str) -> None:
    (entry,) = study(tmp_path, f"{{estimator: '{own}:Centres'}}").systems
    assert entry.configurations == ((0, {}),)


def test_a_class_that_passes_other_models_shares_its_fits(tmp_path: Path) -> None:
    trees = "runner.models.boosted_trees:BoostedTrees"
    grid = "{leaves: [4, 8], trees: [10, 20, 30]}"
    (entry,) = study(tmp_path, f"{{estimator: '{trees}', name: mine, grid: {grid}}}").systems
    groups = entry.family.fits(entry.configurations)
    assert [[v["trees"] for _, v in group] for group in groups] == [[10, 20, 30]] * 2


@pytest.mark.parametrize("name", FAMILIES)
def test_a_default_is_a_system_of_one_configuration(tmp_path: Path, name: str) -> None:
    (entry,) = study(tmp_path, f"{name}@default").systems
    assert entry.name == f"{name}@default"
    defaults = {one: parameter.default for one, parameter in FAMILIES[name].parameters.items()}
    assert entry.configurations == ((0, defaults),)


def test_a_default_stands_beside_its_grid(tmp_path: Path) -> None:
    systems = study(tmp_path, "C-LR", "C-LR@default", "C-BDT@default").systems
    assert [entry.name for entry in systems] == ["C-LR", "C-LR@default", "C-BDT@default"]


@pytest.mark.parametrize(
    ("system", "words"),
    [
        ("C-BDT@defualt", ["'C-BDT@defualt'", "did you mean 'C-BDT@default'"]),
        ("C-BTD@default", ["did you mean 'C-BDT@default'"]),
        ("C-BDT@", ["did you mean 'C-BDT@default'"]),
        ("C-BDT@default: {trees: [1]}", ["C-BDT@default is one configuration", "no parameters"]),
        ("{grid: {}, name: x}", ["a system is a name", "`estimator: package.module:Class`"]),
        ("{estimater: 'x:Y', name: x}", ["a system is a name", "`estimator"]),
    ],
)
def test_what_is_no_system_is_told(tmp_path: Path, system: str, words: list[str]) -> None:
    line, message = complaint(tmp_path, system)
    assert line == 5
    assert all(word in message for word in words), message


def test_a_class_of_ones_own_has_no_default_system(tmp_path: Path, own: str) -> None:
    for entry in (f"{{estimator: '{own}:Centres'}}", f"{{estimator: '{own}:Mute', name: Centres}}"):
        line, message = complaint(tmp_path, "Centres@default", entry)
        assert (line, "'Centres@default'" in message) == (5, True)
        assert "another `name` and no `grid`" in message


@pytest.mark.parametrize(
    ("keys", "line", "words"),
    [
        ("estimator: 'OWN:Centre'", 5, ["has no class 'Centre'", "did you mean 'Centres'"]),
        ("estimator: 'OWN.Centres'", 5, ["package.module:Class", "such as 'OWN:Centres'"]),
        ("estimator: 'OWN:np'", 5, ["has no class 'np'", "'Centres'"]),
        ("estimator: 'numpy:mean'", 5, ["numpy:mean is a function, not a class", "fit(X, y)"]),
        (
            "estimator: 'sklearn.ensemble:VotingClassifier'",
            5,
            ["can't be made", "'estimators' has no default", "wrap it in a class of your own"],
        ),
        ("estimator: 'OWNN:Centres'", 5, ["no module 'OWNN'", "did you mean 'OWN'"]),
        ("estimator: 'qqqqqq:C'", 5, ["no module 'qqqqqq'", "installed"]),
        ("estimator: 'sklearn.ensembl:C'", 5, ["'sklearn' has no module 'ensembl'", "ensemble'"]),
        ("estimator: 'OWN:Mute'", 5, ["Mute is no classifier", "decision_function"]),
        ("estimator: 'sklearn.linear_model:Ridge'", 5, ["Ridge is no classifier"]),
        ("estimator: 'OWN:Demanding'", 5, ["can't be made", "TypeError", "alpha"]),
        ("estimator: ''", 5, ["estimator is empty"]),
        ("estimator:", 5, ["'estimator' has no value"]),
        ("estimator: 5", 5, ["estimator must be text, not 5"]),
        (CLASS.replace("NEXT", "girds: {}"), 6, ["unknown key 'girds'", "did you mean 'grid'"]),
        (CLASS.replace("NEXT", "linear: 1"), 6, ["linear must be true or false, not 1"]),
        (CLASS.replace("NEXT", "name: C-LR"), 6, ["'C-LR' is a system that is built in"]),
        (CLASS.replace("NEXT", "name: a b"), 6, ["name may hold"]),
        (CLASS.replace("NEXT", "name: C-LR@default"), 6, ["name may hold"]),
        (CLASS.replace("NEXT", "grid: [1]"), 6, ["grid must be keys and values, not a list"]),
        (CLASS.replace("NEXT", "grid: {shrnk: [1]}"), 6, ["'shrnk'", "did you mean 'shrink'"]),
        (CLASS.replace("NEXT", "grid: {shrink: []}"), 6, ["shrink is empty", "at least one"]),
        (CLASS.replace("NEXT", "grid: {shrink: 1}"), 6, ["shrink must be a list, not 1"]),
        (CLASS.replace("NEXT", "grid: {shrink: [[1]]}"), 6, ["shrink must be a single value"]),
        (CLASS.replace("NEXT", "grid: {shrink: [1, .nan]}"), 6, ["shrink must be a finite number"]),
        (CLASS.replace("NEXT", "grid: {shrink: [1, 2, 1]}"), 6, ["shrink has 1 twice"]),
        (CLASS.replace("NEXT", "grid:\n      power: [1]\n      shrink: [x, x]"), 8, ["'x' twice"]),
        (
            "estimator: 'OWN:Demanding'\n    grid: {alpha: [-1]}",
            5,
            ["can't be made", "ValueError: alpha is negative"],
        ),
        (
            "estimator: 'runner.models.boosted_trees:BoostedTrees'\n    grid: {leaves: [2, 1]}",
            6,
            ["leaves must be a whole number from 2", "not 1"],
        ),
    ],
)
def test_wrong_estimators_are_told(
    tmp_path: Path, own: str, keys: str, line: int, words: list[str]
) -> None:
    found, message = complaint(tmp_path, keys.replace("OWN", own))
    assert all(word.replace("OWN", own) in message for word in words), message
    assert found == line


@pytest.mark.parametrize("kind", BROKEN)
def test_a_module_that_cannot_be_imported_is_told(tmp_path: Path, own: str, kind: str) -> None:
    (tmp_path / f"{own}_{kind}.py").write_text(BROKEN[kind])
    line, message = complaint(tmp_path, f"estimator: '{own}_{kind}:X'")
    assert line == 5
    assert f"module '{own}_{kind}' can't be imported: " in message


def test_two_systems_of_one_name_are_told(tmp_path: Path, own: str) -> None:
    one = f"estimator: '{own}:Centres'"
    line, message = complaint(tmp_path, one, one + "\n    name: other", one)
    assert (line, message) == (8, "system 'Centres' stands twice; give one another `name`")


def test_what_a_module_prints_is_no_result(
    tmp_path: Path, own: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / f"{own}_prints.py").write_text("print('loud')\n" + CENTRES)
    study(tmp_path, f"estimator: '{own}_prints:Centres'")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "loud\n")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import ctypes\nctypes.string_at(0)", "signal 11 (SIGSEGV)"),
        ("import os\nos._exit(0)", "exit status 0"),
        ("import os\nos.kill(os.getpid(), 9)", "signal 9 (SIGKILL)"),
    ],
)
def test_a_module_that_ends_python_ends_only_itself(
    tmp_path: Path, own: str, source: str, words: str
) -> None:
    (tmp_path / f"{own}_fatal.py").write_text(source)
    line, message = complaint(tmp_path, f"estimator: '{own}_fatal:X'")
    assert line == 5
    assert f"'{own}_fatal' ends Python when it is imported: {words}" in message


def test_a_module_that_hangs_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(
        "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\nchild.wait()\n"
    )
    sys.path.append(str(tmp_path))
    try:
        with pytest.raises(InputError, match="'hangs' isn't imported after 2 s"):
            try_import("hangs", deadline=2)
    finally:
        sys.path.remove(str(tmp_path))
    pid = int((tmp_path / "pid").read_text())
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait(5)
