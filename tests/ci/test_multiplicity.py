"""Histories, counted one by one where that is possible."""

from __future__ import annotations

import itertools
import math

import pytest

from runner.ci import Reuse
from runner.ci.multiplicity import (
    ln_budget,
    ln_full,
    ln_none,
    ln_reveal_cost,
    ln_revealed,
    score_outcomes,
)


def pairs(steps: int, budget: int, outcomes: int = 2) -> int:
    """(step, history) pairs that are met with fewer than ``budget`` changes before the step."""
    return sum(
        1
        for length in range(steps)
        for history in itertools.product(range(outcomes), repeat=length)
        if history.count(0) < budget
    )


@pytest.mark.parametrize("steps", range(1, 12))
def test_budgets_by_brute_force(steps: int) -> None:
    for budget in range(1, steps + 1):
        assert math.exp(ln_budget(steps, budget)) == pytest.approx(pairs(steps, budget))
    assert math.exp(ln_budget(steps, 1)) == pytest.approx(steps)
    assert math.exp(ln_budget(steps, steps + 5)) == pytest.approx(2**steps - 1)


@pytest.mark.parametrize("steps", range(1, 9))
@pytest.mark.parametrize("outcomes", [2, 3, 5])
def test_revealed_outcomes_by_brute_force(steps: int, outcomes: int) -> None:
    if outcomes**steps < 100_000:
        expected = pairs(steps, steps, outcomes)
        assert math.exp(ln_revealed(steps, outcomes)) == pytest.approx(expected)


@pytest.mark.parametrize("steps", [33, 1000, 1024, 10_000])
def test_budgets_of_many_steps_against_whole_numbers(steps: int) -> None:
    for budget in {1, 2, 7, steps // 3, steps // 2, steps // 2 + 1, steps - 1, steps}:
        exactly = sum(math.comb(steps, j) for j in range(1, budget + 1)) if steps < 5000 else None
        if exactly is not None:
            assert ln_budget(steps, budget) == pytest.approx(math.log(exactly), rel=1e-9)
        assert ln_none(steps) <= ln_budget(steps, budget) + 1e-9
        assert ln_budget(steps, budget) <= ln_full(steps) + 1e-9
    assert ln_revealed(steps, 3) == pytest.approx(steps * math.log(3) - math.log(2))


def test_three_outcomes_at_32_steps() -> None:
    assert ln_revealed(32, 3) == pytest.approx(34.46, abs=0.005)


def test_a_single_reveal_splits_the_branch_it_is_on() -> None:
    plain = Reuse("full", 4)
    revealed = Reuse("full", 4, revealed=ln_reveal_cost(2))
    assert revealed.ln_count - plain.ln_count == pytest.approx(math.log(2))
    # What is spent over the tree stays 1: three steps below the root's children, of which the
    # failing one is split in two that share its part.
    steps, spent = 4, 1 / 2**4
    subtree = sum(2**depth for depth in range(steps - 1))
    total = spent + subtree * spent + 2 * subtree * spent / 2
    assert total == pytest.approx((2**steps - 1) / 2**steps)
    assert score_outcomes(9, 2) == 100


@pytest.mark.parametrize(
    ("reuse", "budget"),
    [
        (Reuse("none", 9), None),
        (Reuse("full", 9), None),
        (Reuse("full", 9, passes=3), 3),
        (Reuse("firstChange", 9), 1),
        (Reuse("firstChange", 9, passes=2), 2),
    ],
)
def test_when_a_set_is_retired(reuse: Reuse, budget: int | None) -> None:
    assert reuse.budget == budget
    assert reuse.formula
