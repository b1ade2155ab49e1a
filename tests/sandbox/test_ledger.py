"""The account of a work's evaluations: own clocks, deadlines, and what an end means for each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.sandbox.ledger import End, Ledger, MalformedError, Reading

durations = st.floats(0, 10, allow_nan=False)
plans = st.lists(st.tuples(durations, durations), min_size=1, max_size=6)


def played(plan: list[tuple[float, float]], seconds: float) -> tuple[Ledger, float]:
    """A ledger after evaluations that fit and score for so long, started at 100 s."""
    ledger = limited(len(plan), seconds)
    now = 100.0
    ledger.start(Reading(now))
    for index, (fit, score) in enumerate(plan):
        now += fit
        ledger.checkpoint(index, Reading(now))
        now += score
        ledger.record(index, {"index": index}, None, Reading(now))
    return ledger, now


def limited(evaluations: int, wall: float = 10, cpu: float = float("inf")) -> Ledger:
    return Ledger(evaluations, Reading(wall, cpu))


@given(plans, st.floats(0.1, 20))
def test_an_evaluation_is_ok_when_it_alone_keeps_the_limit(
    plan: list[tuple[float, float]], seconds: float
) -> None:
    ledger, now = played(plan, seconds)
    fitted = 0.0
    for (fit, score), finding in zip(plan, ledger.close(None, Reading(now)), strict=True):
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
    ledger = limited(3)
    ledger.start(Reading(0))
    ledger.record(0, {"score": 1.0}, None, Reading(2))
    first, *rest = ledger.close(End("crash", "signal 11"), Reading(5))
    assert (first.outcome, first.fields) == ("ok", {"score": 1.0})
    assert [(f.outcome, f.reason, f.wall_seconds) for f in rest] == [("crash", "signal 11", 5)] * 2
    assert all(finding.fields == {} for finding in rest)


def test_a_return_without_all_records_is_a_crash() -> None:
    ledger = limited(1)
    ledger.start(Reading(0))
    assert ledger.close(None, Reading(1))[0].reason == "no result"


def test_without_a_checkpoint_all_of_it_is_the_evaluations_own() -> None:
    ledger = limited(2)
    ledger.start(Reading(0))
    ledger.record(0, {}, None, Reading(6))
    assert ledger.deadline == 10


def test_cpu_time_is_limited_by_each_evaluations_own_clock() -> None:
    ledger = limited(3, wall=100, cpu=4)
    ledger.start(Reading(0))
    ledger.checkpoint(0, Reading(1, 2))
    ledger.record(0, {}, None, Reading(2, 5.5))
    assert ledger.cpu_left(Reading(2, 5.5)) == 2
    ledger.record(1, {}, None, Reading(3, 7))
    assert ledger.cpu_left(Reading(3, 7)) == 0.5
    ledger.record(2, {}, None, Reading(4, 8))
    findings = ledger.close(None, Reading(4, 8))
    assert [(f.outcome, f.reason) for f in findings] == [
        ("timeout", "cpu"),
        ("ok", None),
        ("timeout", "cpu"),
    ]


def test_what_was_spent_on_others_models_is_spared() -> None:
    ledger = limited(3, wall=10, cpu=20)
    ledger.start(Reading(0, 0))
    ledger.checkpoint(0, Reading(8, 16))
    ledger.record(0, {}, None, Reading(9, 16))
    # Of the 8 s before, 6 s went into models that the next one doesn't contain.
    ledger.spare(6.0, Reading(9, 16))
    assert ledger.deadline == 10 + 1 + 6
    assert ledger.cpu_left(Reading(9, 16)) == 20 - 16 * 2 / 8
    ledger.checkpoint(1, Reading(13, 24))
    ledger.record(1, {}, None, Reading(13, 24))
    # The last one contains them all.
    ledger.spare(0.0, Reading(13, 24))
    ledger.record(2, {}, None, Reading(13, 24))
    findings = ledger.close(None, Reading(13, 24))
    assert [(f.outcome, f.reason, f.wall_seconds) for f in findings] == [
        ("ok", None, 9),
        ("ok", None, 13 - 1 - 6),
        ("timeout", "wall", 12),
    ]


@pytest.mark.parametrize("seconds", [-0.1, 5.1, float("nan"), float("inf")])
def test_no_more_is_spared_than_has_passed(seconds: float) -> None:
    ledger = limited(2)
    ledger.start(Reading(0))
    with pytest.raises(MalformedError):
        ledger.spare(seconds, Reading(5))


def test_nothing_is_spared_before_the_start_or_on_a_strangers_word() -> None:
    with pytest.raises(MalformedError):
        limited(1).spare(0.0, Reading(0))
    ledger = Ledger(1, Reading(10), trusted=False)
    ledger.start(Reading(0))
    with pytest.raises(MalformedError):
        ledger.spare(1.0, Reading(5))


def test_messages_out_of_turn() -> None:
    ledger = limited(2)
    now = Reading(0)
    with pytest.raises(MalformedError):
        ledger.record(0, {}, None, now)
    ledger.start(now)
    for index in (-1, 1, 2):
        with pytest.raises(MalformedError):
            ledger.record(index, {}, None, now)
    with pytest.raises(MalformedError):
        ledger.start(now)
    ledger.checkpoint(0, now)
    with pytest.raises(MalformedError):
        ledger.checkpoint(0, now)
    ledger.record(0, {}, None, now)
    ledger.record(1, {}, None, now)
    with pytest.raises(MalformedError):
        ledger.record(2, {}, None, now)
