"""Selection against statistics and a brute-force reading of the rule."""

from __future__ import annotations

import statistics
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.selection import Scored, Selection, select

OUTCOMES = ("ok", "ok", "ok", "timeout")
FOLDS = 3


@st.composite
def evaluations(draw: st.DrawFn) -> list[Scored]:
    rows = []
    for configuration_id in range(draw(st.integers(0, 5))):
        for fold in range(FOLDS):
            outcome = draw(st.sampled_from(OUTCOMES))
            score = draw(st.sampled_from([0.1, 0.2, 0.3, 0.7])) if outcome == "ok" else None
            rows.append(Scored(configuration_id, fold, outcome, score))
    return draw(st.permutations(rows))


@given(evaluations(), st.randoms())
def test_best_exact_mean_then_lowest_id(rows: list[Scored], random: Random) -> None:
    complete = {}
    for configuration_id in {row.configuration_id for row in rows}:
        own = [row for row in rows if row.configuration_id == configuration_id]
        if all(row.outcome == "ok" for row in own):
            complete[configuration_id] = [row.score for row in own if row.score is not None]
    found = select(rows, FOLDS)
    random.shuffle(rows)
    assert select(rows, FOLDS) == found
    if not complete:
        assert found is None
        return
    best = max(complete, key=lambda c: (float(sum(map(Fraction, complete[c]))) / FOLDS, -c))
    assert found is not None
    assert found.configuration_id == best
    assert found.mean == pytest.approx(statistics.fmean(complete[best]), rel=1e-15)
    assert found.deviation == pytest.approx(statistics.stdev(complete[best]), abs=1e-15)


def test_order_of_folds_decides_no_tie() -> None:
    # Summed one by one these two differ in the last bit.
    scores = [0.1, 0.2, 0.3]
    rows = [Scored(1, fold, "ok", score) for fold, score in enumerate(scores)]
    rows += [Scored(0, fold, "ok", score) for fold, score in enumerate(reversed(scores))]
    found = select(rows, 3)
    assert found is not None
    assert found.configuration_id == 0


def test_missing_fold_or_score_is_no_complete_configuration() -> None:
    assert select([], 5) is None
    assert select([Scored(0, 0, "ok", 0.5)], 2) is None
    assert select([Scored(0, 0, "ok", 0.5), Scored(0, 1, "ok", float("nan"))], 2) is None


def test_a_folds_score_is_the_mean_over_its_repeats() -> None:
    rows = [
        Scored(4, fold, "ok", 0.5 + fold + repeat, repeat) for fold in (0, 1) for repeat in (0, 1)
    ]
    assert select(rows, 2) is None
    assert select(rows, 2, 2) == Selection(4, 1.5, pytest.approx(statistics.stdev([1.0, 2.0])))
    assert select(rows[:-1], 2, 2) is None
    assert select([Scored(0, 0, "ok", 0.5)], 1) == Selection(0, 0.5, None)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5), st.integers(1, 7))
def test_equal_repeats_change_nothing(scores: list[float], repeats: int) -> None:
    rows = [
        Scored(0, fold, "ok", score, repeat)
        for fold, score in enumerate(scores)
        for repeat in range(repeats)
    ]
    assert select(rows, len(scores), repeats) == select(rows[::repeats], len(scores))


def test_a_doubled_row_is_no_result() -> None:
    with pytest.raises(ValueError, match="twice"):
        select([Scored(0, 0, "ok", 0.5), Scored(0, 0, "ok", 0.6)], 2)
