"""The language: what it accepts, how it reads it, and where it points at in what it refuses."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.ci import Condition, Facts, Guarantee, Reuse, make_plan, parse_condition
from runner.ci.alternatives import alternatives, warnings
from runner.errors import InputError

QUICK, LONG = 500, 20_000
FACTS = Facts(positive="spam", span=(0, 10))


@pytest.mark.parametrize(
    ("text", "coefficients"),
    [
        ("n > 0.8 +/- 0.05", {"n": 1}),
        ("n - o > 0.02 +/- 0.01", {"n": 1, "o": -1}),
        ("n - o - d > 0 +/- 0.1", {"n": 1, "o": -1, "d": -1}),
        ("n - o + d > 0 +/- 0.1", {"n": 1, "o": -1, "d": 1}),
        ("n - 1.1 * o > 0 +/- 0.1", {"n": 1, "o": Fraction(-11, 10)}),
        ("n - o * 1.1 > 0 +/- 0.1", {"n": 1, "o": Fraction(-11, 10)}),
        ("2*n*3 > 0 +/- 0.1", {"n": 6}),
        ("-1 * o + n > 0 +/- 0.1", {"n": 1, "o": -1}),
        ("n - -2 * o > 0 +/- 0.1", {"n": 1, "o": 2}),
        ("n+n-o>0+/-.1", {"n": 2, "o": -1}),
        ("n - n + d < 0.1 +/- 1e-2", {"d": 1}),
        ("0.1*n + 0.2*n > 0 +/- .1", {"n": Fraction(3, 10)}),
    ],
)
def test_what_a_left_side_adds_up_to(text: str, coefficients: dict[str, Fraction]) -> None:
    (clause,) = parse_condition(text).clauses
    assert clause.exact_coefficients == coefficients


def test_a_conjunction() -> None:
    condition = parse_condition("n - o > -0.02 +/- 0.01 /\\ d<.1+/-1e-2/\\o > +0.5 +/- 0.1")
    assert [c.text for c in condition.clauses] == [
        "n - o > -0.02 +/- 0.01",
        "d<.1+/-1e-2",
        "o > +0.5 +/- 0.1",
    ]
    assert [c.threshold for c in condition.clauses] == [-0.02, 0.1, 0.5]
    assert [c.tolerance for c in condition.clauses] == [0.01, 0.01, 0.1]
    assert [c.comparison for c in condition.clauses] == [">", "<", ">"]
    assert [c.column for c in condition.clauses] == [1, 27, 40]


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("", None, "empty"),
        ("n", 2, "'>' or '<'"),
        ("n > 0.8", 8, "tolerance"),
        ("n > 0.8 +/-", 12, "a number"),
        ("n >= 0.8 +/- 0.1", 4, "only '>' and '<'"),
        ("n / 2 > 1 +/- 0.1", 5, "n, o or d"),
        ("n - n / o > 1 +/- 0.1", 7, "no division but"),
        ("n / o > 0 +/- 0.1", 9, "above 0"),
        ("f1 > 0.8 +/- 0.1", 1, "`f1(n)` or `f1(o)`"),
        ("auc(d) > 0.8 +/- 0.1", 1, "`auc(n)`"),
        ("rank(n) < 5", 9, "'<='"),
        ("rank(n) <= 0", 12, "from 1 on"),
        ("rank(o) <= 5", 1, "compared alone"),
        ("f1(n) - f1(n) > 0 +/- 0.1", 1, "cancel"),
        ("(n - o) > 1 +/- 0.1", 1, "no parentheses"),
        ("n > 0.8 +/- 0.1 or d < 0.1 +/- 0.1", 17, "no 'or'"),
        ("n > 0.8 +/- 0.1 AND d < 0.1 +/- 0.1", 17, "/\\"),
        ("n > 0.8 ± 0.1", 9, "'+/-'"),
        ("-n > 0 +/- 0.1", 2, "a number"),
        ("acc > 0.8 +/- 0.1", 1, "n, o or d"),
        ("n o > 0.8 +/- 0.1", 3, "unexpected 'o'"),
        ("n > 0.8.1 +/- 0.1", 5, "0.8.1"),
        ("n > 0.8 +/- 0", 13, "at least"),
        ("n > 0.8 +/- -0.1", 13, "at least"),
        ("n > 1e400 +/- 0.1", 5, "at most"),
        ("n > 1e-400 +/- 0.1", 5, "near 0"),
        ("n - n > 0 +/- 0.1", 1, "cancel"),
        ("n > 0.8 +/- 0.1 /\\", 19, "n, o or d"),
        ("n > 0.8 +/- 0.1 /\\ /\\ d", 20, "n, o or d"),
    ],
)
def test_errors_point_at_the_column(text: str, column: int | None, said: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_condition(text)
    assert said in refused.value.message
    if column is not None:
        assert f"column {column} of the condition" in refused.value.message


PIECES = (
    "n",
    "o",
    "d",
    ">",
    "<",
    "+",
    "-",
    "*",
    "+/-",
    "/\\",
    "0.1",
    "1",
    ".02",
    "2e-3",
    " ",
    "1e9",
    "f1(n)",
    "auc( o )",
    "rmse(n)",
    "rank(n) <= 2",
    " / ",
)
NOISE = (*PIECES, "/", "\\", "e", "(", "1e999", "é", "\n", ">=", "n - o", "٣", "\0", "_", "'")


@st.composite
def near_conditions(draw: st.DrawFn) -> str:
    """Mostly conditions, with a few places that are anything."""
    rng = random.Random(draw(st.integers(0, 2**40)))
    clauses = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        terms = (
            rng.choice(("n", "o", "d", "1.1 * o", "o*-2", "-3*n", "f1(n)", "auc(n)", "rmse(o)")),
            rng.choice(("", "- o", "+ d", "- auc(o)", "/ o")),
        )
        numbers = (
            rng.choice(("0.1", "-.02", "1e-5", "7")),
            rng.choice(("0.01", ".2", "3", "1e-9")),
        )
        clauses.append(f"{' '.join(terms)} {rng.choice('<>')} {numbers[0]} +/- {numbers[1]}")
    text = " /\\ ".join(clauses)
    for _ in range(rng.choice((0, 0, 1, 2, 5))):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(NOISE) + text[at + rng.choice((0, 0, 1, 3)) :]
    return text


ANY_TEXT = st.one_of(
    near_conditions(),
    st.lists(st.sampled_from(NOISE), max_size=25).map("".join),
    st.text(max_size=40),
)


def check_answer(text: str, steps: int) -> None:
    """A plan, or one line that says what is wrong."""
    refused = None
    try:
        condition = parse_condition(text)
        for kind, bound in (("full", "auto"), ("none", "hoeffding"), ("firstChange", "bennett")):
            reuse = Reuse(kind, steps)
            guarantee = Guarantee(condition, 0.01, "fn-free", reuse, facts=FACTS)
            plan = make_plan(guarantee, bound)
            assert plan.labels >= 1
            assert all(other.labels >= 1 for other in alternatives(plan))
        assert isinstance(warnings(condition, "fp-free"), tuple)
    except InputError as error:
        refused = error
    assert refused is None or refused.message


@settings(max_examples=QUICK, deadline=None, suppress_health_check=list(HealthCheck))
@given(ANY_TEXT, st.sampled_from([1, 2, 32, 10_000]))
def test_any_text_gets_a_plan_or_one_line(text: str, steps: int) -> None:
    check_answer(text, steps)


@pytest.mark.slow
@settings(max_examples=LONG, deadline=None, suppress_health_check=list(HealthCheck))
@given(ANY_TEXT, st.sampled_from([1, 2, 32, 10_000]))
def test_any_text_gets_a_plan_or_one_line_20000_times(text: str, steps: int) -> None:
    check_answer(text, steps)


def test_a_very_long_sum_is_no_deep_recursion() -> None:
    condition = parse_condition("n" + "+n" * 4_000 + "> 1 +/- 1")
    assert isinstance(condition, Condition)
    assert condition.clauses[0].coefficients == {"n": 4_001}
    with pytest.raises(InputError, match="longer"):
        parse_condition("n" + "+n" * 40_000 + "> 1 +/- 1")
