"""Verdicts: three truths, two modes, and what is refused."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.ci import (
    Guarantee,
    Mode,
    Plan,
    Reuse,
    Rows,
    Truth,
    judge,
    make_plan,
    parse_condition,
    rows_to_label,
)
from runner.ci.difference import upper_difference
from runner.ci.estimates import estimates
from runner.ci.intervals import clause_truth, condition_truth, conjunction, passes
from runner.errors import CannotRunError, InputError

T, U, F = Truth.TRUE, Truth.UNKNOWN, Truth.FALSE


def plan(
    condition: str, mode: Mode = "fp-free", bound: str = "auto", difference: float | None = None
) -> Plan:
    guarantee = Guarantee(parse_condition(condition), 0.05, mode, Reuse("none", 1), difference)
    return make_plan(guarantee, bound)


@pytest.mark.parametrize(
    ("clause", "estimate", "truth"),
    [
        ("d < 0.1 +/- 0.01", 0.111, F),
        ("d < 0.1 +/- 0.01", 0.089, T),
        ("d < 0.1 +/- 0.01", 0.1, U),
        ("d > 0.1 +/- 0.01", 0.111, T),
        ("d > 0.1 +/- 0.01", 0.089, F),
        # At the limits themselves, which floats would miss on either side.
        ("d < 0.1 +/- 0.01", 0.11, U),
        ("d < 0.1 +/- 0.01", 0.09, U),
        ("d > 0.1 +/- 0.01", 0.11, U),
        ("d > 0.1 +/- 0.2", 0.3, U),
        ("3 * d > 0.1 +/- 0.2", 0.1, U),
    ],
)
def test_the_papers_example(clause: str, estimate: float, truth: Truth) -> None:
    (parsed,) = parse_condition(clause).clauses
    assert clause_truth(parsed, {"d": estimate}) is truth


def test_the_authors_point_estimates_would_accept_what_is_unknown() -> None:
    condition = parse_condition("n - o > 0.02 +/- 0.01")
    truth = condition_truth(condition, {"n": 0.8201, "o": 0.8})
    assert truth is U
    assert not passes(truth, "fp-free")
    assert passes(truth, "fn-free")


def test_kleenes_and() -> None:
    for first, second in itertools.product((T, U, F), repeat=2):
        worst = F if F in (first, second) else U if U in (first, second) else T
        assert conjunction([first, second]) is worst
    assert conjunction([]) is T


@given(
    st.lists(st.tuples(st.integers(-30, 30), st.sampled_from("nod")), min_size=1, max_size=4),
    st.fractions(0, 1, max_denominator=50),
    st.fractions(0, 1, max_denominator=50),
    st.fractions(0, 1, max_denominator=50),
    st.integers(-40, 40),
    st.integers(1, 40),
)
def test_a_left_side_is_its_estimate_give_or_take_the_tolerance(
    terms: list[tuple[int, str]], n: Fraction, o: Fraction, d: Fraction, limit: int, tolerance: int
) -> None:
    text = " + ".join(f"{c / 10} * {v}" for c, v in terms)
    totals = {v: sum(c for c, w in terms if w == v) for v in "nod"}
    if not any(totals.values()):
        return
    (clause,) = parse_condition(f"{text} > {limit / 20} +/- {tolerance / 20}").clauses
    value = sum(Fraction(totals[v], 10) * x for v, x in zip("nod", (n, o, d), strict=True))
    threshold, width = Fraction(limit, 20), Fraction(tolerance, 20)
    truth = T if value - width > threshold else F if value + width < threshold else U
    assert clause_truth(clause, {"n": n, "o": o, "d": d}) is truth


def rows(counts: dict[tuple[int, int], int]) -> Rows:
    """Rows of (new right, old right), where two wrong predictions are the same."""
    parts = [np.tile([new, old], (count, 1)) for (new, old), count in counts.items()]
    both = np.concatenate(parts)
    order = np.random.default_rng(0).permutation(len(both))
    return Rows(both[order, 0], both[order, 1], np.ones(len(both), int))


def test_estimates_are_counts() -> None:
    found = estimates(rows({(1, 1): 70, (1, 0): 13, (0, 1): 7, (0, 0): 10}))
    assert found == {"n": Fraction(83, 100), "o": Fraction(77, 100), "d": Fraction(20, 100)}
    assert set(estimates(Rows(np.array(["a"]), np.array(["b"])))) == {"d"}
    assert set(estimates(Rows(np.array(["a"]), None, np.array(["a"])))) == {"n"}


@pytest.mark.parametrize(("gain", "truth"), [(120, T), (100, U), (80, U), (40, U), (-300, F)])
@pytest.mark.parametrize("mode", ["fp-free", "fn-free"])
def test_a_verdict_from_rows(gain: int, truth: Truth, mode: Mode) -> None:
    # 10,000 rows; limits at n - o = .01 and -.15 hundredths.
    wanted = plan("n - o > 0.003 +/- 0.007", mode, difference=0.04)
    tested = rows({(1, 1): 9000, (1, 0): 200 + gain // 2, (0, 1): 200 - gain // 2, (0, 0): 600})
    if gain == -300:
        tested = rows({(1, 1): 9000, (1, 0): 50, (0, 1): 350, (0, 0): 600})
    if wanted.labels > len(tested):
        tested = Rows(*(np.tile(part, 2) for part in (tested.new, tested.old, tested.labels)))
    found = judge(wanted, tested)
    assert found.truth is truth
    assert found.passed is (truth is T or (truth is U and mode == "fn-free"))


def test_too_few_rows_get_no_verdict() -> None:
    wanted = plan("n > 0.8 +/- 0.1", bound="hoeffding")
    few = Rows(np.ones(wanted.labels - 1), None, np.ones(wanted.labels - 1))
    with pytest.raises(CannotRunError, match=r"test set has 149 rows .* needs 150"):
        judge(wanted, few)
    enough = Rows(np.ones(wanted.labels), None, np.ones(wanted.labels))
    assert judge(wanted, enough).passed


def test_pattern_1_judges_d_on_the_pool() -> None:
    wanted = plan("d < 0.1 +/- 0.05 /\\ n - o > 0.02 +/- 0.04")
    tested = rows({(1, 1): 9200, (1, 0): 750, (0, 1): 50})
    assert len(tested) >= wanted.labels
    same = Rows(np.zeros(wanted.unlabelled), np.zeros(wanted.unlabelled))
    other = Rows(np.arange(30_000) % 5 == 0, np.zeros(30_000, bool))
    assert [c.truth for c in judge(wanted, tested).clauses] == [U, T]
    assert len(same) < len(tested)
    found = judge(wanted, tested, other)
    assert [c.truth for c in found.clauses] == [F, T]
    assert found.truth is F
    with pytest.raises(CannotRunError, match="the test set has 200 rows"):
        judge(wanted, tested.part(0, 200), other)


def test_a_stated_difference_that_isnt_so_gets_no_verdict() -> None:
    wanted = plan("n - o > 0.02 +/- 0.04", difference=0.05)
    assert wanted.stated == 0.05
    with pytest.raises(CannotRunError, match="differ on more rows"):
        judge(wanted, rows({(1, 1): 8000, (1, 0): 1000, (0, 1): 1000}))
    assert judge(wanted, rows({(1, 1): 9500, (1, 0): 500})).truth is U


def test_the_first_rows_can_reject_alone() -> None:
    wanted = plan("n > 0.95 +/- 0.01", bound="bennett")
    (requirement,) = wanted.requirements
    assert requirement.coarse is not None
    new = np.ones(wanted.labels)
    assert judge(wanted, Rows(new, None, np.ones(len(new)))).truth is T
    new[: requirement.coarse.rows // 5] = 0
    assert judge(wanted, Rows(new, None, np.ones(len(new)))).truth is F


def test_labels_only_where_the_models_differ() -> None:
    wanted = plan("n - o > 0.02 +/- 0.04", difference=0.2)
    whole = rows({(1, 1): 8000, (1, 0): 1200, (0, 1): 300, (0, 0): 500})
    assert whole.labels is not None
    some = Rows(whole.new, whole.old, whole.labels.copy(), np.zeros(len(whole), bool))
    assert some.known is not None
    asked = rows_to_label(some)
    assert len(asked) == 1500
    with pytest.raises(InputError, match="1,500 rows lack a label"):
        judge(wanted, some)
    some.known[asked] = True
    assert some.labels is not None
    some.labels[~some.known] = -1
    assert judge(wanted, some) == judge(wanted, whole)
    with pytest.raises(InputError, match="labels of all rows"):
        judge(plan("n > 0.8 +/- 0.04"), some)


def test_measuring_the_difference_first() -> None:
    guarantee = plan("n - o > 0.02 +/- 0.02").guarantee
    pool = rows({(1, 1): 9500, (1, 0): 400, (0, 1): 100})
    limit = upper_difference(guarantee, pool)
    assert limit == pytest.approx(0.05 + 0.04)
    grown = make_plan(guarantee, measured=limit)
    assert grown.bound == "bennett"
    assert grown.labels < make_plan(guarantee).labels
    with pytest.raises(CannotRunError, match="measuring d needs"):
        upper_difference(guarantee, pool.part(0, 100))


@pytest.mark.parametrize(
    ("tested", "said"),
    [
        (Rows(np.zeros(9000), None, np.zeros(9000)), "old model"),
        (Rows(np.zeros(9000), np.zeros(9000)), "labels"),
    ],
)
def test_missing_parts(tested: Rows, said: str) -> None:
    with pytest.raises(InputError, match=said):
        judge(plan("n - o > 0.02 +/- 0.05"), tested)
    with pytest.raises(InputError, match="the same rows"):
        Rows(np.zeros(3), np.zeros(4))
    with pytest.raises(InputError, match="no rows"):
        estimates(Rows(np.zeros(0)))
