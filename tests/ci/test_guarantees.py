"""The promises hold in simulation, and the simulation judges as the program does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from benchmarks.ci_guarantees import REUSES, SETTINGS, Setting, told_too_much
from benchmarks.ci_histories import Probes, Right, Sets, World, errors
from runner.ci import Guarantee, Mode, Reuse, Rows, judge, make_plan, parse_condition

HISTORIES = 1_000
NAMES = [setting.name for setting in SETTINGS]


def world(setting: Setting, mode: Mode, reuse: Reuse, delta: float = 0.05) -> World:
    condition = parse_condition(setting.condition)
    guarantee = Guarantee(condition, delta, mode, reuse, setting.stated)
    return World(make_plan(guarantee, setting.bound), setting.differing)


@pytest.mark.parametrize("setting", SETTINGS[:5], ids=NAMES[:5])
@pytest.mark.parametrize("adaptivity", REUSES)
def test_errors_are_as_rare_as_promised_and_point_estimates_err(
    setting: Setting, adaptivity: str
) -> None:
    for mode in ("fp-free", "fn-free"):
        found = world(setting, mode, REUSES[adaptivity])
        wrong = errors(found, HISTORIES, seed=1)
        assert binomtest(wrong, HISTORIES).proportion_ci(0.99, method="exact").low <= 0.05
        points = errors(replace(found, points=True), HISTORIES, seed=1)
        assert points > 0.4 * HISTORIES


@pytest.mark.parametrize(("delta", "rate"), [(0.05, 0.0401), (0.01, 0.00895)])
def test_independent_models_err_as_often_as_the_binomial_law_says(
    delta: float, rate: float
) -> None:
    found = world(SETTINGS[1], "fp-free", REUSES["none"], delta)
    n = found.plan.labels
    tail = binom.sf(np.floor(0.6 * n + 1e-9), n, 0.5)
    assert 1 - (1 - tail) ** 8 == pytest.approx(rate, rel=2e-3)
    wrong = errors(found, 20_000, seed=2)
    assert wrong / 20_000 == pytest.approx(rate, abs=4 * (rate / 20_000) ** 0.5)


def test_a_set_sized_for_nothing_told_fails_a_developer_who_is_told() -> None:
    found = {(one.adaptivity, one.delta): one for one in told_too_much(500, seed=1)}
    assert found["full", 0.05].low <= 0.05
    assert found["none", 0.05].low > 0.3
    assert found["none", 0.01].low > 0.1


@pytest.mark.parametrize("setting", SETTINGS, ids=NAMES)
@pytest.mark.parametrize("mode", ["fp-free", "fn-free"])
def test_the_simulation_passes_what_the_program_passes(setting: Setting, mode: Mode) -> None:
    found = world(setting, mode, Reuse("full", 2))
    rng = np.random.default_rng(0)
    coarse = 0 if found.judged.coarse is None else found.judged.coarse.rows
    for shift in np.linspace(-2.5, 2.5, 21):
        value = found.clause.threshold + shift * found.clause.tolerance
        differ, right = _drawn(found, value, rng)
        new = np.where(differ, np.where(right, 1, 2), 3)
        old = np.where(differ, np.where(right, 2, 1), 3)
        tested = Rows(new, old if found.paired else None, np.where(differ, 1, 3))
        pool = None
        other = np.ones(1, np.int8)
        if len(found.plan.requirements) > 1:
            # So many rows of the pool differ that the clause on d decides, or doesn't.
            rows = found.plan.requirements[0].rows + found.plan.labels
            share = rng.choice([0.02, 0.1, 0.2])
            pool = Rows((np.arange(rows) < share * rows).astype(int), np.zeros(rows, int))
            d = float((pool.new != pool.old).mean())
            other[:] = 1 if d < 0.05 else -1 if d > 0.15 else 0
        sets = Sets(np.array([differ[:coarse].sum()]), np.array([differ[coarse:].sum()]), other)
        counted = Right(
            np.array([(right & differ)[:coarse].sum()]), np.array([(right & differ)[coarse:].sum()])
        )
        assert judge(found.plan, tested, pool).passed == found.passes(counted, sets)[0]


def _drawn(found: World, value: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    rows = found.plan.labels
    differ = rng.random(rows) < (found.differing if found.paired else 1.0)
    return differ, rng.random(rows) < found.accuracy(value)


def test_a_vote_is_at_the_limit_exactly() -> None:
    found = world(SETTINGS[0], "fp-free", Reuse("full", 8))
    rng = np.random.default_rng(0)
    # Test sets of so many rows that nothing can be learnt from their chance.
    sets = Sets(np.zeros(4, int), np.full(4, 400_000), np.ones(4, np.int8))
    probes = Probes(found, rng, sets, 5)
    probes.passed = rng.random((4, 5)) < 0.5
    votes = probes.vote(np.array([[1, 1, 1, 1, 1]] * 2 + [[1, 0, 1, 0, 0], [0] * 5], bool))
    assert votes.rest / 400_000 == pytest.approx(0.5, abs=0.004)
