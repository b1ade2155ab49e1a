"""Parameters, grids and which configurations one fit serves."""

from __future__ import annotations

import inspect
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import InputError
from runner.models import FAMILIES, Choice, Family, Parameter, family

FAMILY = pytest.mark.parametrize("one", FAMILIES.values(), ids=FAMILIES)


@pytest.mark.parametrize(
    ("name", "configurations", "fits"),
    [
        ("C-AP", 6, 3),
        ("C-BPM", 1, 1),
        ("C-BDT", 180, 60),
        ("C-DF", 81, 9),
        ("C-DJ", 81, 9),
        ("C-NN", 24, 6),
        ("C-SVM", 15, 5),
        ("C-LR", 72, 36),
        ("XGB", 180, 60),
        ("A-LR", 1, 1),
    ],
)
def test_grids_have_the_size_of_table_5(name: str, configurations: int, fits: int) -> None:
    grid = family(name).configurations()
    assert [number for number, _ in grid] == list(range(configurations))
    assert len({tuple(values.items()) for _, values in grid}) == configurations
    assert len(family(name).fits(grid)) == fits


def test_the_last_parameter_varies_fastest() -> None:
    grid = dict(family("C-BDT").configurations())
    assert grid[0] == {"leaves": 2, "min_leaf": 1, "learning_rate": 0.025, "trees": 20}
    assert grid[1] == {"leaves": 2, "min_leaf": 1, "learning_rate": 0.025, "trees": 100}
    assert grid[45] == {"leaves": 8, "min_leaf": 1, "learning_rate": 0.025, "trees": 20}
    assert grid[179] == {"leaves": 128, "min_leaf": 50, "learning_rate": 0.4, "trees": 500}


def test_replaced_values_keep_the_numbers_of_the_full_grid() -> None:
    bdt = family("C-BDT")
    full = {tuple(values.items()): number for number, values in bdt.configurations()}
    part = bdt.configurations({"leaves": [32, 8], "trees": [100]})
    assert len(part) == 2 * 3 * 5
    assert part[0][1]["leaves"] == 32
    assert all(full[tuple(values.items())] == number for number, values in part)


def test_values_beyond_the_grid_are_numbered_after_it() -> None:
    part = family("C-LR").configurations({"l1": [0.5, 1, 2], "memory": [20], "tolerance": [1e-4]})
    beyond = {number for number, values in part if values["l1"] in (0.5, 2)}
    assert len(beyond) == 6
    assert all(72 <= number < 2**31 for number in beyond)
    assert all(number < 72 for number, values in part if values["l1"] == 1)


def test_a_configuration_beyond_the_grid_has_one_number_in_all_studies() -> None:
    bdt = family("C-BDT")
    small = {tuple(v.values()): n for n, v in bdt.configurations({"trees": [50]})}
    large = {tuple(v.values()): n for n, v in bdt.configurations({"trees": [20, 50, 60]})}
    assert small.items() <= large.items()
    assert len(set(large.values())) == len(large)


def test_one_and_one_point_nought_are_one_configuration() -> None:
    whole, real = (family("C-LR").configurations({"l1": [value]}) for value in (1, 1.0))
    assert repr(whole) == repr(real)
    assert repr(family("C-LR").configurations({"l1": [-0.0]})).count("-0.0") == 0


@FAMILY
def test_a_fit_serves_what_differs_in_the_shared_parameters_alone(one: Family) -> None:
    grid = one.configurations()
    groups = one.fits(grid[::-1])
    assert sorted(number for group in groups for number, _ in group) == list(range(len(grid)))
    swept = (sorted(one.parameters[n].swept, reverse=one.descending) for n in one.shared)
    passed = list(itertools.product(*swept))
    for group in groups:
        values = [configuration for _, configuration in group]
        assert [tuple(one.stop(v).values()) for v in values] == passed
        assert len({tuple(v[n] for n in v if n not in one.shared) for v in values}) == 1


@FAMILY
def test_an_estimator_left_as_it_is_has_the_defaults(one: Family) -> None:
    defaults = {name: parameter.default for name, parameter in one.parameters.items()}
    made = one.estimator(defaults, seed=0, threads=1)
    signature = inspect.signature(type(made)).parameters
    assert {name: signature[name].default for name in one.parameters} == defaults


@FAMILY
def test_swept_values_and_defaults_are_valid(one: Family) -> None:
    for parameter in one.parameters.values():
        assert [parameter.problem(value) for value in (*parameter.swept, parameter.default)] == [
            None
        ] * (len(parameter.swept) + 1)


WHOLE = Parameter("trees", (1,), 1, "whole", low=1, high=5000)
REAL = Parameter("rate", (0.1,), 0.1, "real", low=0, high=1, open_low=True)
FROM_NOUGHT = Parameter("l1", (0.0,), 0.0, "real", low=0)
LOSS = Choice("loss", ("cross", "squared"), "cross")


@pytest.mark.parametrize("value", [0, 5001, 1.0, True, "1", None, [1], math.nan, 1 + 0j])
def test_whole_numbers_refuse(value: object) -> None:
    assert WHOLE.problem(value) == "a whole number from 1 to 5000"


@pytest.mark.parametrize("value", [0, -0.1, 1.5, False, "0.1", None, math.nan, math.inf, 10**400])
def test_numbers_above_a_bound_refuse(value: object) -> None:
    assert REAL.problem(value) == "a number above 0 and at most 1"


@pytest.mark.parametrize("value", [-1e-300, math.inf, math.nan, 10**400, True])
def test_numbers_from_a_bound_refuse(value: object) -> None:
    assert FROM_NOUGHT.problem(value) == "a number from 0 up"


@pytest.mark.parametrize("value", ["Cross", "", 1, None, ["cross"]])
def test_choices_refuse(value: object) -> None:
    assert LOSS.problem(value) == "'cross' or 'squared'"
    assert LOSS.problem("cross") is LOSS.problem("squared") is None


@given(st.integers(1, 5000), st.floats(0, 1, exclude_min=True), st.floats(0, 1e308))
def test_valid_values_pass(whole: int, rate: float, l1: float) -> None:
    assert WHOLE.problem(whole) is WHOLE.problem(np.int64(whole)) is None
    assert REAL.problem(rate) is REAL.problem(np.float64(rate)) is REAL.problem(1) is None
    assert FROM_NOUGHT.problem(l1) is None


@pytest.mark.parametrize(
    ("replacements", "message"),
    [
        ({"tree": [1]}, "no parameter 'tree': did you mean 'trees'"),
        ({"zzz": [1]}, "the choice is 'leaves', 'min_leaf', 'learning_rate', 'trees'"),
        ({"trees": []}, "at least one"),
        ({"trees": [0]}, "trees must be a whole number from 1 .*, not 0"),
        ({"trees": [5, 5]}, "5 twice"),
        ({"learning_rate": [1, 1.0]}, "1.0 twice"),
    ],
)
def test_wrong_replacements_are_named(replacements: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        family("C-BDT").configurations(replacements)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("C-BDTT", "did you mean 'C-BDT'"),
        ("c-lr", "did you mean 'C-LR'"),
        ("zz", "the choice is 'C-"),
    ],
)
def test_an_unknown_family_is_named(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        family(name)


@FAMILY
def test_cost_grows_with_the_work(one: Family) -> None:
    for group in one.fits(one.configurations()):
        for shape in ((50, 2), (500, 30), (30_000, 150)):
            costs = [one.cost(configuration, *shape) for _, configuration in group]
            assert min(costs) > 0
            assert costs[-1] == max(costs)
    for _, configuration in one.configurations():
        costs = [
            one.cost(configuration, rows, columns)
            for rows, columns in ((2, 1), (455, 30), (5916, 30), (26_215, 135))
        ]
        assert costs == sorted(costs)


def test_the_documented_table_is_the_grid() -> None:
    text = (Path(__file__).parents[2] / "docs" / "families.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    documented: dict[str, dict[str, tuple[list[float | str], float | str]]] = {}
    name = ""
    for row in rows:
        if len(row) == 5 and row[1].startswith("`"):
            name = row[0] or name
            swept = [cell(value) for value in row[2].split(",")]
            documented.setdefault(name, {})[row[1].strip("`")] = swept, cell(row[3])
    assert documented == {
        one.name: {
            name: (list(parameter.swept), parameter.default)
            for name, parameter in one.parameters.items()
        }
        for one in FAMILIES.values()
    }


def cell(text: str) -> float | str:
    """A documented value: a number, or a name in backticks."""
    text = text.strip()
    return text.strip("`") if text.startswith("`") else float(text)
