"""What must be true of every plan, whatever the condition."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.ci import Guarantee, Mode, Reuse, make_plan, parse_condition
from runner.ci.alternatives import loosened, warnings
from runner.errors import InputError

CLAUSES = st.sampled_from(
    [
        "n > 0.8 +/- 0.05",
        "n > 0.97 +/- 0.02",
        "o < 0.05 +/- 0.01",
        "n - o > 0.02 +/- 0.03",
        "2 * o - 2 * n < -0.02 +/- 0.03",
        "n - 1.1 * o > 0 +/- 0.04",
        "d < 0.1 +/- 0.02",
        "-1 * d > -0.2 +/- 0.02",
        "n - o - d > -0.5 +/- 0.1",
    ]
)
GUARANTEES = st.builds(
    Guarantee,
    st.lists(CLAUSES, min_size=1, max_size=3).map(" /\\ ".join).map(parse_condition),
    st.sampled_from([0.1, 0.01, 1e-5]),
    st.sampled_from(["fp-free", "fn-free"]),
    st.builds(
        Reuse,
        st.sampled_from(["none", "full", "firstChange"]),
        st.sampled_from([1, 7, 32, 1000]),
    ),
    st.sampled_from([None, 0.05, 0.4]),
)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(GUARANTEES)
def test_auto_is_never_above_hoeffding_and_grows_with_what_is_promised(asked: Guarantee) -> None:
    plan = make_plan(asked)
    assert plan.labels <= make_plan(asked, "hoeffding").labels
    surer = replace(asked, delta=asked.delta / 10)
    assert make_plan(surer).labels >= plan.labels
    more = replace(asked, reuse=replace(asked.reuse, steps=asked.reuse.steps * 2))
    assert make_plan(more).labels >= plan.labels
    assert make_plan(loosened(asked, 0.01)).labels <= plan.labels
    released = replace(asked, reuse=replace(asked.reuse, revealed=1.0))
    assert make_plan(released).labels >= plan.labels
    assert plan.requirements[plan.deciding].rows == plan.labels


@settings(max_examples=15, deadline=None, derandomize=True)
@given(GUARANTEES)
def test_the_order_of_clauses_and_their_scale_dont_matter(asked: Guarantee) -> None:
    turned = parse_condition(
        " /\\ ".join(clause.text for clause in reversed(asked.condition.clauses))
    )
    assert make_plan(replace(asked, condition=turned)).labels == make_plan(asked).labels


def test_a_multiple_of_a_clause_needs_as_many() -> None:
    def labels(text: str, bound: str = "auto") -> int:
        guarantee = Guarantee(parse_condition(text), 0.01, "fp-free", Reuse("full", 9), 0.1)
        return make_plan(guarantee, bound).labels

    for bound in ("auto", "hoeffding", "bennett"):
        once = labels("n - o > 0.02 +/- 0.01", bound)
        assert labels("2 * n - 2 * o > 0.04 +/- 0.02", bound) == once
        assert labels("o - n < -0.02 +/- 0.01", bound) == once
    assert labels("-1 * n < -0.9 +/- 0.01") == labels("n > 0.9 +/- 0.01")
    assert labels("2 * n > 1.8 +/- 0.02") == labels("n > 0.9 +/- 0.01")


def test_a_clause_on_d_bounds_it_whichever_way_it_is_written() -> None:
    for text in ("d < 0.1 +/- 0.01", "-1 * d > -0.1 +/- 0.01", "2 * d < 0.2 +/- 0.02"):
        condition = parse_condition(f"{text} /\\ n - o > 0.02 +/- 0.01")
        guarantee = Guarantee(condition, 1e-4, "fp-free", Reuse("none", 32))
        assert make_plan(guarantee).labels == 34675
    lower = parse_condition("d > 0.1 +/- 0.01 /\\ n - o > 0.02 +/- 0.01")
    assert make_plan(Guarantee(lower, 1e-4, "fp-free", Reuse("none", 32))).bound == "hoeffding"


@pytest.mark.parametrize(
    ("condition", "mode", "said"),
    [
        ("n > 0.95 +/- 0.05", "fp-free", "never pass"),
        ("n > 0.94 +/- 0.05", "fp-free", None),
        ("n > 0.95 +/- 0.05", "fn-free", None),
        ("d < 0.01 +/- 0.01", "fp-free", "never pass"),
        ("d < 0.995 +/- 0.01", "fn-free", "never fail"),
        ("n > 0.01 +/- 0.01", "fn-free", "never fail"),
        # Where correctness differs predictions do: n - o - d is never above 0.
        ("n - o - d > 0 +/- 0.01", "fp-free", "never pass"),
        ("n - o + d > 1.9 +/- 0.01", "fp-free", None),
        ("n + o + d > 2 +/- 0.01", "fp-free", "never pass"),
    ],
)
def test_conditions_that_cant_but_end_one_way(condition: str, mode: str, said: str | None) -> None:
    found = warnings(parse_condition(condition), mode)
    assert (said is None) == (not found)
    assert said is None or said in found[0]


def test_no_test_set_is_large_enough() -> None:
    condition = parse_condition("n > 0.8 +/- 1e-8")
    with pytest.raises(InputError, match="needs more than"):
        make_plan(Guarantee(condition, 0.01, "fp-free", Reuse("full", 32)))
    with pytest.raises(InputError, match="as large as"):
        make_plan(Guarantee(condition, 0.01, "fp-free", Reuse("full", 32)), "binomial")
    with pytest.raises(InputError, match="'bennett'"):
        make_plan(Guarantee(condition, 0.01, "fp-free", Reuse("full", 32)), "benett")


@pytest.mark.parametrize("mode", ["fp-free", "fn-free"])
def test_what_holds_for_all_models_is_said(mode: Mode) -> None:
    for text, said in (
        ("rmse(n) > -1 +/- 0.1", "between 0 and inf"),
        ("n < 1.5 +/- 0.1", "between 0 and 1"),
    ):
        (warning,) = warnings(parse_condition(text), mode)
        assert "holds for all models" in warning
        assert said in warning
