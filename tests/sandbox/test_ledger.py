"""The account of a work's evaluations: own clocks, deadlines, and what an end means for each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.sandbox.ledger import End, Ledger, MalformedError

durations = st.floats(0, 10, allow_nan=False)
plans = st.lists(st.tuples(durations, durations), min_size=1, max_size=6)


def played(plan: list[tuple[float, float]], seconds: float) -> tuple[Ledger, float]:
    """A ledger after evaluations that fit and score for so long, started at 100 s."""
    ledger = Ledger(len(plan), seconds)
    now = 100.0
    ledger.start(now)
    for index, (fit, score) in enumerate(plan):
        now += fit
        ledger.checkpoint(index, now)
        now += score
        ledger.record(index, {"index": index}, None, now)
    return ledger, now


@given(plans, st.floats(0.1, 20))
def test_an_evaluation_is_ok_when_it_alone_keeps_the_limit(
    plan: list[tuple[float, float]], seconds: float
) -> None:
    ledger, now = played(plan, seconds)
    fitted = 0.0
    for (fit, score), finding in zip(plan, ledger.close(None, now), strict=True):
        fitted += fit
        alone = fitted + score
        assert finding.wall_seconds == pytest.approx(alone, abs=1e-9)
        if abs(alone - seconds) > 1e-6:
            assert (finding.outcome == "ok") == (alone < seconds)


@given(plans, st.floats(0.1, 20))
def test_the_deadline_moves_by_the_scoring(plan: list[tuple[float, float]], seconds: float) -> None:
    ledger, _ = played([*plan], seconds)
    assert ledger.deadline == pytest.approx(100 + seconds + sum(score for _, score in plan))


def test_what_was_recorded_stands_whatever_ends_the_rest() -> None:
    ledger = Ledger(3, 10)
    ledger.start(0)
    ledger.record(0, {"score": 1.0}, None, 2)
    first, *rest = ledger.close(End("crash", "signal 11"), 5)
    assert (first.outcome, first.fields) == ("ok", {"score": 1.0})
    assert [(f.outcome, f.reason, f.wall_seconds) for f in rest] == [("crash", "signal 11", 5)] * 2
    assert all(finding.fields == {} for finding in rest)


def test_a_return_without_all_records_is_a_crash() -> None:
    ledger = Ledger(1, 10)
    ledger.start(0)
    assert ledger.close(None, 1)[0].reason == "no result"


def test_without_a_checkpoint_all_of_it_is_the_evaluations_own() -> None:
    ledger = Ledger(2, 10)
    ledger.start(0)
    ledger.record(0, {}, None, 6)
    assert ledger.deadline == 10


def test_messages_out_of_turn() -> None:
    ledger = Ledger(2, 10)
    with pytest.raises(MalformedError):
        ledger.record(0, {}, None, 0)
    ledger.start(0)
    for index in (-1, 1, 2):
        with pytest.raises(MalformedError):
            ledger.record(index, {}, None, 0)
    with pytest.raises(MalformedError):
        ledger.start(1)
    ledger.checkpoint(0, 1)
    with pytest.raises(MalformedError):
        ledger.checkpoint(0, 2)
    ledger.record(0, {}, None, 3)
    ledger.record(1, {}, None, 4)
    with pytest.raises(MalformedError):
        ledger.record(2, {}, None, 5)
