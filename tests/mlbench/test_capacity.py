"""Capacity and universality against brute force and the paper's text."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import InputError
from runner.mlbench.capacity import Capacities, models_needed, tolerance_curve
from runner.mlbench.regimes import Thresholds, heat_map
from runner.mlbench.study import Study

MODELS, TASKS = tuple("ABCDE"), tuple("vwxyz")
VALUE = st.one_of(st.none(), st.integers(1, 20).map(float))
CAPACITIES = st.lists(
    st.lists(VALUE, min_size=5, max_size=5).map(tuple), min_size=5, max_size=5
).map(lambda rows: Capacities(MODELS, TASKS, tuple(rows)))


def covering(found: Capacities, tolerance: float) -> list[tuple[str, ...]]:
    """All smallest sets of models that meet a tolerance everywhere."""
    for size in range(len(MODELS) + 1):
        sets = [
            models
            for models in itertools.combinations(MODELS, size)
            if found.universality(models, tolerance) == len(TASKS)
        ]
        if sets:
            return sets
    return []


@given(CAPACITIES, st.integers(0, 21))
def test_fewest_models(found: Capacities, tolerance: int) -> None:
    sets = covering(found, tolerance)
    assert models_needed(found, MODELS, tolerance) == (min(sets) if sets else None)


@given(CAPACITIES)
def test_curve(found: Capacities) -> None:
    steps = tolerance_curve(found, MODELS)
    for tolerance in range(22):
        sets = covering(found, tolerance)
        below = [step for step in steps if step.tolerance <= tolerance]
        assert (len(below[-1].models) if below else None) == (len(sets[0]) if sets else None)
    assert (steps[0].tolerance if steps else None) == found.overall_capacity(MODELS)


@given(CAPACITIES, st.integers(0, 21))
def test_universality_is_the_union(found: Capacities, tolerance: int) -> None:
    reached = {
        task
        for task in TASKS
        if any((found.capacity(model, task) or 99) <= tolerance for model in MODELS)
    }
    assert found.universality(MODELS, tolerance) == len(reached)
    everywhere = found.overall_capacity(MODELS)
    assert (len(reached) == len(TASKS)) == (everywhere is not None and everywhere <= tolerance)


def test_the_papers_text(published: Study) -> None:
    """Section 5.1: over all data sets, without D-VP, without D-KDD2 too; D-PHY has no ranks."""
    found, azure, amazon = published.capacities, *published.platforms.values()
    assert found.tasks == ("D-SCH", "D-EG", "D-VP", "D-AEA", "D-KDD1", "D-KDD2")
    fewer = found.without({"D-VP"}), found.without({"D-VP", "D-KDD2"})
    overall = [part.overall_capacity(azure) for part in (found, *fewer)]
    assert overall == [pytest.approx(value, abs=0.005) for value in (31.24, 6.99, 2.54)]
    assert {part.overall_capacity(amazon) for part in (found, *fewer)} == {100 * 264 / 313}
    # Section 5.2.3.
    low = found.universality(azure, 0.99)
    assert (low, found.universality(azure, 5), found.universality(azure, 10)) == (2, 4, 5)
    assert found.universality(amazon, 10) == 1
    assert found.reached("C-BDT", 10) >= {"D-KDD2"}
    assert found.best(azure, "D-EG") == ("C-AP", "C-SVM", "C-LR")
    assert found.best(azure, "D-KDD1") == ("C-AP", "C-LR")


def test_a_platform_without_a_rank_meets_no_tolerance_everywhere(published: Study) -> None:
    found = published.capacities
    assert found.overall_capacity(["C-NN"]) is None
    assert tolerance_curve(found, ["C-NN"]) == ()
    assert found.without({"D-KDD2"}).overall_capacity(["C-NN"]) == 100 * 496 / 1306
    assert found.platform_capacity([], "D-EG") is None
    assert found.capacity("C-LR", "D-PHY") is None


def test_regimes_of_the_paper(published: Study) -> None:
    cells = heat_map(published.capacities)
    assert len(cells) == 9 * 6
    best: dict[str, set[str | None]] = {}
    for cell in cells:
        best.setdefault(cell.task, set()).add(cell.regime)
    assert best["D-VP"] == {"outside"}
    low = {(cell.model, cell.task) for cell in cells if cell.regime == "low"}
    assert {task for _, task in low} == {"D-SCH", "D-EG"}
    assert {c.model for c in cells if c.task == "D-KDD2" and c.regime == "high"} == {"C-BDT"}
    assert [(c.model, c.task) for c in cells if c.regime is None] == [("C-NN", "D-KDD2")]


def test_a_regimes_end() -> None:
    limits = Thresholds()
    ends = {0.99: "low", 1: "middle", 5: "middle", 5.01: "high", 10: "high", 10.01: "outside"}
    assert {value: limits.regime(value) for value in ends} == ends
    assert Thresholds(2, 20, 40).regime(1.5) == "low"
    with pytest.raises(InputError, match="must rise within 0 and 100"):
        Thresholds(5, 5, 10)
