"""Sequential tests: what they save, how often they err, and what they fall back on."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from runner.ci import Guarantee, Mode, Reuse, Rows, Truth, judge, make_plan, parse_condition
from runner.ci.expectation import expect, likely_effect
from runner.ci.metrics import Facts
from runner.ci.sequential import judge_sequentially, make_sequential_plan, to_label
from runner.errors import CannotRunError, InputError

EASY = "n - o > 0.02 +/- 0.06"


def guarantee(
    condition: str,
    mode: Mode = "fp-free",
    delta: float = 0.05,
    steps: int = 1,
    difference: float | None = None,
) -> Guarantee:
    facts = Facts(positive="1")
    return Guarantee(
        parse_condition(condition), delta, mode, Reuse("none", steps), difference, facts
    )


def two_models(rng: np.random.Generator, rows: int, gain: float, differing: float) -> Rows:
    drawn = rng.choice(
        [1, 0, -1], rows, p=[(differing + gain) / 2, 1 - differing, (differing - gain) / 2]
    )
    right = rng.random(rows) < 0.8
    new = np.where(drawn == 0, right, drawn == 1).astype(int)
    old = np.where(drawn == 0, right, drawn == -1).astype(int)
    return Rows(new, old, np.ones(rows, int))


def test_three_times_fewer_labels_in_the_median_at_twice_the_threshold() -> None:
    asked = guarantee("n - o > 0.02 +/- 0.01", delta=1e-4, steps=32, difference=0.1)
    plan = make_sequential_plan(asked)
    fixed = make_plan(asked).labels
    effect = likely_effect(plan)
    assert effect.values == pytest.approx((0.04,))
    found = expect(plan, effect, fixed)
    assert fixed == 27_616
    assert 3 * found.median <= fixed
    assert found.early > 0.99
    assert found == expect(plan, effect, fixed)


def test_the_worst_case_is_the_fixed_plan_at_half_of_delta() -> None:
    asked = guarantee(EASY)
    plan = make_sequential_plan(asked)
    assert plan.fixed.labels == make_plan(replace(asked, delta=asked.delta / 2)).labels
    assert plan.fixed.labels < 1.4 * make_plan(asked).labels
    with pytest.raises(CannotRunError, match="needs up to"):
        judge_sequentially(plan, two_models(np.random.default_rng(0), 100, 0.1, 0.2))


def test_rows_stop_where_the_simulation_says() -> None:
    plan = make_sequential_plan(guarantee(EASY, difference=0.2))
    rng = np.random.default_rng(1)
    took = []
    for _ in range(80):
        rows = two_models(rng, plan.fixed.labels, 0.14, 0.2)
        found = judge_sequentially(plan, rows)
        assert found.truth is Truth.TRUE
        assert found.labels == int((rows.new != rows.old)[: found.rows].sum())
        took.append(found.rows)
    told = expect(plan, likely_effect(plan), 0)
    assert np.median(took) == pytest.approx(told.median, rel=0.25)


@pytest.mark.parametrize(
    ("mode", "condition", "wrong"),
    [
        ("fp-free", "n - o > 0.02 +/- 0.1", True),
        ("fp-free", "o - n < -0.02 +/- 0.1", True),
        ("fn-free", "n - o > 0.0199 +/- 0.1", False),
    ],
)
def test_error_rates_at_the_limit(mode: Mode, condition: str, wrong: bool) -> None:
    """A model exactly at the limit: the verdict that the mode guards is wrong."""
    plan = make_sequential_plan(guarantee(condition, mode, delta=0.1, difference=0.2))
    rng = np.random.default_rng(2)
    draws = 200
    errors = sum(
        judge_sequentially(plan, two_models(rng, plan.fixed.labels, 0.02, 0.15)).passed is wrong
        for _ in range(draws)
    )
    assert errors / draws <= 0.1


def test_labels_that_come_in_batches_lead_to_the_same_verdict() -> None:
    plan = make_sequential_plan(guarantee(EASY, difference=0.2))
    rng = np.random.default_rng(3)
    for gain in (0.14, 0.05, -0.05):
        rows = two_models(rng, plan.fixed.labels, gain, 0.2)
        at_once = judge_sequentially(plan, rows)
        known, looks = np.zeros(len(rows), bool), 0
        found = judge_sequentially(plan, replace(rows, known=known))
        while found.truth is None:
            assert found.wanted > found.rows - plan.batch
            known[: found.wanted] = True
            looks += 1
            found = judge_sequentially(plan, replace(rows, known=known))
        assert (found.truth, found.rows) == (at_once.truth, at_once.rows)
        assert looks <= at_once.rows // plan.batch + 1


def test_labels_are_asked_for_many_at_a_time() -> None:
    plan = make_sequential_plan(guarantee("n - o > 0.02 +/- 0.03", difference=0.05))
    rows = two_models(np.random.default_rng(6), plan.fixed.labels, 0.04, 0.05)
    needed = judge_sequentially(plan, rows).labels
    known, asked = np.zeros(len(rows), bool), []
    found = judge_sequentially(plan, replace(rows, known=known))
    while found.truth is None:
        ids = to_label(plan, replace(rows, known=known), found.wanted)
        asked.append(len(ids))
        known[ids] = True
        found = judge_sequentially(plan, replace(rows, known=known))
    assert found.labels == needed
    # A look may have a few rows more than are asked for.
    look = math.ceil(plan.batch * 0.05 * 4)
    assert needed <= sum(asked) <= needed + max(25, needed / 5) + look
    assert all(count >= 25 for count in asked[:-1])


def test_what_bets_leave_open_the_fixed_plan_judges() -> None:
    plan = make_sequential_plan(guarantee("n > 0.8 +/- 0.05"))
    rows = plan.fixed.labels
    order = np.random.default_rng(4).permutation(rows)
    right = (order < 0.84 * rows).astype(int)
    tested = Rows(right, None, np.ones(rows, int))
    found = judge_sequentially(plan, tested)
    assert found.rows == rows
    assert found.truth is judge(plan.fixed, tested).truth is Truth.UNKNOWN
    assert found.passed is False


def test_f1_is_bet_on_by_the_rows_that_count() -> None:
    plan = make_sequential_plan(guarantee("f1(n) > 0.8 +/- 0.05"))
    rng = np.random.default_rng(5)
    labels = (rng.random(20_000) < 0.2).astype(int).astype(str)
    said = np.where(rng.random(20_000) < 0.98, labels, np.where(labels == "1", "0", "1"))
    found = judge_sequentially(plan, Rows(said, None, labels))
    assert found.truth is Truth.TRUE
    assert found.labels < 3000
    worse = np.where(rng.random(20_000) < 0.8, labels, np.where(labels == "1", "0", "1"))
    assert judge_sequentially(plan, Rows(worse, None, labels)).truth is Truth.FALSE


def test_what_cant_be_bet_on() -> None:
    with pytest.raises(InputError, match="use method fixed"):
        make_sequential_plan(guarantee("auc(n) > 0.8 +/- 0.05"))
    mixed = make_sequential_plan(guarantee("n > 0.5 +/- 0.1 /\\ auc(n) > 0.8 +/- 0.1"))
    low = Rows(np.zeros(900, int), None, np.ones(900, int))
    assert judge_sequentially(mixed, low).truth is Truth.FALSE
    assert judge_sequentially(mixed, low).rows < 200
