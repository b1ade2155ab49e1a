"""Detectors of drift: run lengths without it, delays with it, and what they point at."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from runner.ci.drift import Look, any_change, below_level
from runner.ci.relevant import Share


def history(shares: list[float], rows: int, rng: np.random.Generator) -> list[Share]:
    return [Share(int(rng.binomial(rows, share)), rows) for share in shares]


def first_alarm(looks: tuple[Look, ...]) -> int | None:
    return next((i for i, look in enumerate(looks, 1) if look.alarm), None)


def test_expected_evidence_without_drift_is_the_number_of_sets() -> None:
    """Exactly, over all outcomes of three sets of two rows at the level."""
    level, total = 0.7, 0.0
    chances = [(1 - level) ** 2, 2 * level * (1 - level), level**2]
    for outcome in itertools.product(range(3), repeat=3):
        looks = below_level([Share(right, 2) for right in outcome], level, 1e9)
        total += math.prod(chances[right] for right in outcome) * looks[-1].evidence * 1e9
    assert total == pytest.approx(3)


@pytest.mark.parametrize("detector", ["level", "change"])
def test_run_lengths_are_at_least_those_stated(detector: str) -> None:
    rng = np.random.default_rng(5)
    stated, runs = 10, []
    for _ in range(60):
        sets = history([0.9] * 60, 200, rng)
        looks = below_level(sets, 0.9, stated) if detector == "level" else any_change(sets, stated)
        runs.append(first_alarm(looks) or len(sets))
    assert np.mean(runs) >= stated


@pytest.mark.parametrize("detector", ["level", "change"])
def test_a_drop_is_found_and_dated(detector: str) -> None:
    rng = np.random.default_rng(6)
    sets = history([0.9] * 8 + [0.8] * 8, 500, rng)
    looks = below_level(sets, 0.88, 100) if detector == "level" else any_change(sets, 100)
    found = first_alarm(looks)
    assert found is not None
    assert 8 < found <= 11
    assert looks[-1].since is not None
    assert 6 <= looks[-1].since <= 10
    assert len(looks) == found


def test_a_gain_is_a_change_but_not_a_fall() -> None:
    sets = history([0.8] * 6 + [0.9] * 6, 500, np.random.default_rng(7))
    assert first_alarm(any_change(sets, 100)) is not None
    assert first_alarm(below_level(sets, 0.78, 100)) is None


def test_a_slow_decline_adds_up() -> None:
    """No two successive sets differ enough to tell."""
    shares = [0.9 - 0.005 * i for i in range(20)]
    sets = history(shares, 1000, np.random.default_rng(8))
    assert first_alarm(any_change(sets, 1000)) is not None
    pairs = [any_change(list(pair), 1000) for pair in itertools.pairwise(sets)]
    assert not any(first_alarm(pair) for pair in pairs)


def test_enormous_evidence_is_an_alarm() -> None:
    looks = below_level([Share(0, 10**6)], 0.9, 1e6)
    assert looks[0].alarm
    assert looks[0].evidence > 1
