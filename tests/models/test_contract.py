"""What every family promises, run against each of them and against the documentation's own."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.metrics import auc
from runner.models import FAMILIES, Family, OutsideClass, contract
from runner.models.contract import CHECKS, Check

EXTENDING = Path(__file__).parents[2] / "docs" / "extending.md"
GRIDS: dict[str, dict[str, list[Any]]] = {
    "nearest:Nearest": {"power": [1, 2, 4]},
    "descent:Descent": {"rate": [0.3, 3.0], "steps": [10, 100]},
    "sklearn.ensemble:ExtraTreesClassifier": {"n_estimators": [5, 40], "max_depth": [4, None]},
}
# scikit-learn's trees take a column for constant whose values differ by less than 1e-7.
LACKING = {"sklearn.ensemble:ExtraTreesClassifier": {"scales_do_not_matter"}}


def documented() -> dict[str, str]:
    """The modules that docs/extending.md shows, by name."""
    blocks = re.findall(r"```python\n(.*?)```", EXTENDING.read_text(), re.DOTALL)
    modules = [block for block in blocks if "\nclass " in block]
    return {re.findall(r"^class (\w+)", text, re.M)[0].lower(): text for text in modules}


@pytest.fixture(scope="session")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Family]]:
    folder = tmp_path_factory.mktemp("outside")
    for name, text in documented().items():
        (folder / f"{name}.py").write_text(text)
    before = list(sys.path)
    yield lambda name: OutsideClass.load(name, folder).family(name="own", grid=GRIDS[name])
    sys.path[:] = before


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("one", FAMILIES.values(), ids=FAMILIES)
def test_families(one: Family, check: Check) -> None:
    check(one)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", GRIDS)
def test_families_from_outside(name: str, check: Check, outside: Callable[[str], Family]) -> None:
    if check.__name__ in LACKING.get(name, ()):
        with pytest.raises(AssertionError):
            check(outside(name))
    else:
        check(outside(name))


def test_all_checks_are_listed() -> None:
    own = [one for one in vars(contract).values() if inspect.isfunction(one)]
    own = [one for one in own if one.__module__ == contract.__name__ and one.__name__[0] != "_"]
    assert list(CHECKS) == own


@pytest.mark.parametrize("one", FAMILIES.values(), ids=FAMILIES)
def test_the_grid_holds_a_very_good_model(
    one: Family, breast_cancer: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = breast_cancer
    *_, (_, values) = one.fits(one.configurations())[-1]
    fitted = one.estimator(values, seed=5, threads=1).fit(X, y)
    assert auc(y.astype(np.uint8), fitted.decision_function(X)) > 0.97


FAULTY = """
import warnings
import numpy as np

class Faulty:
    def __init__(self, fault="none"):
        self.fault = fault

    def fit(self, X, y):
        if self.fault == "writes":
            X[0, 0] += 1
        if self.fault == "warns":
            warnings.warn("look")
        self.span = X.max() - X.min() or 1.0

        self.first = X[0, 1] / self.span

    def decision_function(self, X):
        if self.fault == "order":
            return X[:, 0] / self.span + self.first
        if self.fault == "place":
            return X[:, 0] / self.span + 1e-9 * np.arange(len(X))
        if self.fault == "batch":
            return X[:, 0] / self.span / len(X)
        if self.fault == "random":
            return np.random.default_rng().normal(size=len(X))
        if self.fault == "nan":
            return X[:, 0] * np.nan
        return X[:, 0] if self.fault == "scale" else X[:, 0] / self.span
"""


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("random", "a_seed_gives_equal_bits_with_any_number_of_threads"),
        ("random", "a_pickled_model_gives_equal_bits"),
        ("random", "the_grid_holds_a_good_model"),
        ("writes", "data_are_left_as_they_were"),
        ("warns", "degenerate_data_give_finite_scores"),
        ("warns", "many_duplicated_rows_give_finite_scores"),
        ("nan", "degenerate_data_give_finite_scores"),
        ("scale", "scales_do_not_matter"),
        ("seedless", "another_seed_gives_another_model"),
        ("order", "the_order_of_rows_does_not_matter"),
        ("place", "equal_rows_have_equal_margins"),
        ("batch", "a_row_alone_has_the_margin_of_a_batch"),
    ],
)
def test_a_fault_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, check: str
) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY.replace('"none"', f'"{fault}"'))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "faulty", raising=False)
    family = OutsideClass.load("faulty:Faulty", tmp_path).family(name="faulty", grid={})
    family = replace(family, seeded=True, order_free=True)
    [found] = [one for one in CHECKS if one.__name__ == check]
    with pytest.raises((AssertionError, UserWarning, ValueError)):
        found(family)
