"""How many labels a sequential test takes, by simulation at a stated effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.ci.betting import stakes
from runner.ci.condition import Clause
from runner.ci.metric_requirement import limit_of
from runner.ci.metrics import metric_of
from runner.ci.relevant import to_share
from runner.ci.requirement import ASSUMED_DIFFERENCE, is_difference, upper_limit_of_d
from runner.ci.sequential import SequentialPlan, can_bet

if TYPE_CHECKING:
    from numpy.typing import NDArray

DRAWS = 500


@dataclass(frozen=True)
class Effect:
    """What is true in a simulation.

    Attributes:
        values: Of the clauses' left sides, in their order.
        difference: The share of rows on which the models differ.
    """

    values: tuple[float, ...]
    difference: float


@dataclass(frozen=True)
class Expectation:
    """Rows that a sequential test looks at.

    Attributes:
        early: The share of tests that end before the last row.
        fixed: Rows of the plan for all labels at once, at the whole of delta.
    """

    effect: Effect
    median: int
    mean: float
    ninth_decile: int
    early: float
    fixed: int
    draws: int


def likely_effect(plan: SequentialPlan, beyond: float | None = None) -> Effect:
    """Left sides that hold by ``beyond``, by default twice the tolerance."""
    values = []
    for clause in plan.guarantee.condition.clauses:
        by = 2 * clause.tolerance if beyond is None else beyond
        low, high = clause.attainable
        value = clause.threshold + (by if clause.comparison == ">" else -by)
        values.append(min(high, max(low, value)))
    return Effect(tuple(values), _difference(plan))


def _difference(plan: SequentialPlan) -> float:
    if plan.guarantee.difference is not None:
        return plan.guarantee.difference
    limits = [upper_limit_of_d(clause) for clause in plan.guarantee.condition.clauses]
    return min((limit for limit in limits if limit is not None), default=ASSUMED_DIFFERENCE)


def expect(
    plan: SequentialPlan, effect: Effect, fixed: int, draws: int = DRAWS, seed: int = 0
) -> Expectation:
    """Simulate the bets on all clauses, each by itself; the slowest decides.

    Rows are drawn with the variance that the effect allows: n - o is 0 where the models agree,
    other left sides are at one of their ends.

    Args:
        fixed: To compare with.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    most = plan.fixed.labels
    looks = [*range(plan.batch, most, plan.batch), most]
    stopped = np.full(draws, looks[0])
    for clause, value in zip(plan.guarantee.condition.clauses, effect.values, strict=True):
        took = _stopped(plan, clause, value, effect.difference, looks, draws, rng)
        stopped = np.maximum(stopped, took)
    return Expectation(
        effect,
        int(np.median(stopped)),
        float(stopped.mean()),
        int(np.quantile(stopped, 0.9, method="higher")),
        float(np.mean(stopped < most)),
        fixed,
        draws,
    )


def _stopped(
    plan: SequentialPlan,
    clause: Clause,
    value: float,
    difference: float,
    looks: Sequence[int],
    draws: int,
    rng: Any,
) -> NDArray[Any]:
    """At which look the bet that a clause holds is won, a draw; the last where it isn't."""
    import numpy as np

    facts = plan.guarantee.facts
    if not can_bet(clause, facts):
        return np.full(draws, looks[-1])
    values, chances, mean, counted = _row(clause, value, difference, facts.share)
    if clause.comparison == "<":
        values, mean = 1 - values, 1 - mean
    needed = plan.ln_certain if plan.guarantee.mode == "fp-free" else plan.ln_futile
    if not 0 < mean < 1:
        return np.full(draws, looks[0] if mean <= 0 else looks[-1])
    sizes = np.diff([0, *looks])
    won = np.full(draws, looks[-1])
    gains = np.log1p(stakes()[:, None] * (values / mean - 1))
    open_ = np.ones(draws, bool)
    totals = np.zeros((draws, len(values)))
    for size, look in zip(sizes, looks, strict=True):
        rows = rng.binomial(size, counted, draws)
        totals += rng.multinomial(rows, chances)
        ln_each = totals @ gains.T
        top = ln_each.max(axis=1)
        capital = top + np.log(np.exp(ln_each - top[:, None]).mean(axis=1))
        fresh = open_ & (capital >= needed)
        won[fresh] = look
        open_ &= ~fresh
    return won


def _row(
    clause: Clause, value: float, difference: float, share: float | None
) -> tuple[NDArray[Any], list[float], float, float]:
    """A row's values in [0, 1], their chances, the mean compared, and the share that counts."""
    import numpy as np

    if clause.metrics:
        ((name, coefficient),) = clause.coefficients.items()
        metric = metric_of(name) or ""
        right = to_share(metric, value / coefficient)
        limit = to_share(metric, limit_of(clause))
        values = np.array([0.0, 1.0])
        return (
            values if coefficient > 0 else 1 - values,
            [1 - right, right],
            limit if coefficient > 0 else 1 - limit,
            1.0 if share is None else share,
        )
    low, high = clause.attainable
    mean = (clause.threshold - low) / (high - low)
    if is_difference(clause):
        unit = abs(clause.coefficients["n"])
        differ = max(difference, min(1.0, abs(value) / unit))
        up = min(1.0, max(0.0, (differ + value / unit) / 2))
        return np.array([0.0, 0.5, 1.0]), [differ - up, 1 - differ, up], mean, 1.0
    high_share = (value - low) / (high - low)
    return np.array([0.0, 1.0]), [1 - high_share, high_share], mean, 1.0
