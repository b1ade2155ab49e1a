"""``method: sequential``: labels come in batches, and a verdict as soon as it is certain.

Half of delta goes to bets (:mod:`runner.ci.betting`) that are looked at after every batch, half to
the plan that would need all labels at once, which judges what the bets leave open at the end. So no
model needs more labels than that plan, whose tolerance holds too, and most need far fewer. All that
decides is fixed before the first label: the order of rows, batches and levels.

A bet covers looks at one model. Other models on the same rows are counted as always: each bet has
delta / (k M). When a verdict came is more than one bit, and stays with those who hold the labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from runner.ci.betting import ln_capital
from runner.ci.condition import Clause
from runner.ci.estimates import Rows
from runner.ci.guarantee import Guarantee
from runner.ci.intervals import Truth, conjunction, passes
from runner.ci.metric_requirement import limit_of
from runner.ci.metrics import Facts, metric_of, model_of
from runner.ci.multiplicity import ln_pending
from runner.ci.plan import Plan, ln_inverse_share, make_plan
from runner.ci.relevant import SHARES, counting, marks, to_metric, to_share
from runner.ci.requirement import is_difference
from runner.ci.verdict import ClauseJudgement, judge
from runner.errors import CannotRunError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOOKS = 100
"""Into so many batches the labels of the whole plan are divided."""

ROUND = 25
"""Labels that are asked for at a time, at least: people are called for less rarely."""

FUTILITY = 0.01
"""How surely the error that the mode allows is avoided when a model is given up early."""


@dataclass(frozen=True)
class SequentialPlan:
    """What a sequential test takes at most.

    Attributes:
        fixed: The plan for all labels at once, at half of delta: the worst case.
        batch: Rows between two looks.
        ln_certain: What ln of a capital must reach for the verdict that the mode guards.
        ln_futile: The same for the other.
    """

    fixed: Plan
    batch: int
    ln_certain: float
    ln_futile: float

    @property
    def guarantee(self) -> Guarantee:
        """As the fixed plan's, at half of delta."""
        return self.fixed.guarantee


@dataclass(frozen=True)
class SequentialJudgement:
    """The verdict, or that more labels are needed.

    Attributes:
        truth: None where more labels are needed.
        passed: Likewise.
        rows: That were looked at.
        labels: That those needed: fewer than rows where rows of equal predictions need none.
        wanted: Rows to label before the test is asked again, the first ones in order.
        clauses: What became of each clause, estimated on the rows that were looked at.
    """

    truth: Truth | None
    passed: bool | None
    rows: int
    labels: int
    wanted: int
    clauses: tuple[ClauseJudgement, ...] = ()


def make_sequential_plan(guarantee: Guarantee, bound: str = "auto") -> SequentialPlan:
    """The plan of a sequential test.

    Raises:
        InputError: As :func:`runner.ci.plan.make_plan`, or if no clause can be bet on.
    """
    if not any(can_bet(clause, guarantee.facts) for clause in guarantee.condition.clauses):
        raise InputError(
            "method sequential bets on shares of rows, and no clause is one: nothing is known "
            "before the end of AUC, RMSE and ranks, of sums of F1, precision and recall and of "
            "several classes' averages; use method fixed"
        )
    reuse = guarantee.reuse
    if reuse.kind != "none":
        reuse = replace(reuse, revealed=reuse.revealed + ln_pending(reuse.steps))
    half = replace(guarantee, delta=guarantee.delta / 2, reuse=reuse)
    fixed = make_plan(half, bound)
    clauses = len(guarantee.condition.clauses)
    batch = max(1, math.ceil(fixed.labels / LOOKS))
    return SequentialPlan(
        fixed, batch, ln_inverse_share(half), math.log(clauses) - math.log(FUTILITY)
    )


def can_bet(clause: Clause, facts: Facts) -> bool:
    """Whether a clause speaks of a bounded mean of single rows."""
    if not clause.metrics:
        return True
    return len(clause.coefficients) == 1 and facts.classes == 2 and _metric(clause) in SHARES


def judge_sequentially(
    plan: SequentialPlan, rows: Rows, pool: Rows | None = None
) -> SequentialJudgement:
    """Judge a new model by the labels there are.

    Args:
        rows: Of the test set, in the order in which they are labelled, which must not depend on
            them. Where ``known`` says so, the labels from some row on aren't there yet.
        pool: As for :func:`runner.ci.verdict.judge`, at the end.

    Raises:
        CannotRunError: If the test set is smaller than the plan's worst case.
        InputError: If predictions are missing.
    """
    most = plan.fixed.labels
    if len(rows) < most:
        raise CannotRunError(
            f"the test set has {len(rows):,} rows and the sequential test needs up to {most:,}; "
            "`runner ci size` has the plan"
        )
    if any(clause.metrics for clause in plan.guarantee.condition.clauses):
        # How many rows hold enough of a class isn't known beforehand.
        most = len(rows)
    known = _known_rows(plan, rows)
    looks = [*range(plan.batch, most, plan.batch), most]
    seen = [look for look in looks if look <= known]
    truths = {}
    for clause in plan.guarantee.condition.clauses:
        truths[clause] = _truths(plan, clause, rows.part(0, seen[-1] if seen else 0), seen)
    for index, look in enumerate(seen):
        now = {clause: found[index] for clause, found in truths.items()}
        if conjunction(now.values()) is not Truth.UNKNOWN:
            clauses = [
                ClauseJudgement(clause, truth, _estimate(plan, clause, rows.part(0, look)))
                for clause, truth in now.items()
            ]
            return _decided(plan, rows, clauses, look)
    if known < most:
        labels = _labels(plan, rows, known)
        following = _following(plan, rows, [look for look in looks if look > known], labels)
        return SequentialJudgement(None, None, known, labels, following)
    at_end = judge(plan.fixed, rows.part(0, most), pool)
    clauses = [
        found
        if truths[found.clause][-1] is Truth.UNKNOWN
        else replace(found, truth=truths[found.clause][-1])
        for found in at_end.clauses
    ]
    return _decided(plan, rows, clauses, most)


def _following(plan: SequentialPlan, rows: Rows, looks: Sequence[int], labels: int) -> int:
    """Up to which look labels are asked for at once.

    The test still ends at the first look that decides, so its verdict doesn't depend on this, and
    what is labelled in vain is about a fifth at most.

    Args:
        looks: Those to come.
        labels: That the rows before them needed.
    """
    import numpy as np

    wanted = max(ROUND, labels // 5)
    missing = np.cumsum(_missing(plan, rows))[np.array(looks) - 1]
    enough = np.flatnonzero(missing >= wanted)
    return looks[int(enough[0])] if len(enough) else looks[-1]


def to_label(plan: SequentialPlan, rows: Rows, wanted: int) -> list[int]:
    """Which of the first ``wanted`` rows lack a label that is needed."""
    found: list[int] = _missing(plan, rows.part(0, wanted)).nonzero()[0].tolist()
    return found


def _decided(
    plan: SequentialPlan, rows: Rows, clauses: Sequence[ClauseJudgement], look: int
) -> SequentialJudgement:
    truth = conjunction(found.truth for found in clauses)
    passed = passes(truth, plan.guarantee.mode)
    labels = _labels(plan, rows, look)
    return SequentialJudgement(truth, passed, look, labels, 0, tuple(clauses))


def _estimate(plan: SequentialPlan, clause: Clause, rows: Rows) -> Fraction:
    """A clause's left side on some rows; 0 where it can't be bet on or no row counts."""
    if not can_bet(clause, plan.guarantee.facts):
        return Fraction(0)
    if not clause.metrics:
        values = {name: _row_values(name, clause, rows) for name in clause.coefficients}
        shares = {name: Fraction(int(found.sum()), len(rows)) for name, found in values.items()}
        return sum((c * shares[name] for name, c in clause.exact_coefficients.items()), Fraction(0))
    ((name, coefficient),) = clause.exact_coefficients.items()
    marked = _marked(clause, name, rows, plan.guarantee.facts)
    if not len(marked):
        return Fraction(0)
    return coefficient * to_metric(_metric(clause), Fraction(int(marked.sum()), len(marked)))


def _paired(plan: SequentialPlan) -> bool:
    """Whether rows of equal predictions need no label."""
    labelled = [found.clause for found in plan.fixed.requirements if found.labelled]
    return all(is_difference(clause) for clause in labelled)


def _labels(plan: SequentialPlan, rows: Rows, look: int) -> int:
    if not _paired(plan) or rows.old is None:
        return look
    return int((rows.new[:look] != rows.old[:look]).sum())


def _known_rows(plan: SequentialPlan, rows: Rows) -> int:
    """Rows up to the first whose label is needed and isn't there."""
    found = _missing(plan, rows).nonzero()[0]
    return int(found[0]) if len(found) else len(rows)


def _missing(plan: SequentialPlan, rows: Rows) -> NDArray[Any]:
    """Whether a row lacks a label that is needed (n,)."""
    import numpy as np

    if rows.known is None:
        return np.zeros(len(rows), bool)
    missing: NDArray[Any] = ~rows.known.astype(bool)
    if _paired(plan) and rows.old is not None:
        missing = missing & (rows.new != rows.old)
    return missing


def _truths(plan: SequentialPlan, clause: Clause, rows: Rows, looks: list[int]) -> list[Truth]:
    """What the bets on a clause say at each look; once certain they stay so."""
    if not looks or not can_bet(clause, plan.guarantee.facts):
        return [Truth.UNKNOWN] * len(looks)
    import numpy as np

    x, mean, at = _bet(clause, rows, plan.guarantee.facts, looks)
    if clause.comparison == "<":
        x, mean = 1 - x, 1 - mean
    certain, futile = plan.ln_certain, plan.ln_futile
    if plan.guarantee.mode == "fn-free":
        certain, futile = futile, certain
    true = np.maximum.accumulate(capital_at(x, mean, at)) >= certain
    false = np.maximum.accumulate(capital_at(1 - x, 1 - mean, at)) >= futile
    found: list[Truth] = []
    for holds, fails in zip(true, false, strict=True):
        if found and found[-1] is not Truth.UNKNOWN:
            found.append(found[-1])
        else:
            found.append(Truth.TRUE if holds else Truth.FALSE if fails else Truth.UNKNOWN)
    return found


def capital_at(x: NDArray[Any], mean: float, at: NDArray[Any]) -> NDArray[Any]:
    """ln of a bet's capital after each of some numbers of rows; 0 after none.

    Where the mean is at an end of what is possible, nothing can be won or all of it.
    """
    import numpy as np

    if mean >= 1:
        return np.zeros(len(at))
    if mean <= 0:
        return np.full(len(at), np.inf if mean < 0 else 0.0)
    found: NDArray[Any] = np.concatenate([[0.0], ln_capital(x, mean)])[at]
    return found


def _bet(
    clause: Clause, rows: Rows, facts: Facts, looks: list[int]
) -> tuple[NDArray[Any], float, NDArray[Any]]:
    """Rows in [0, 1], the mean that is compared, and how many rows count up to each look."""
    import numpy as np

    if clause.metrics:
        return _counted_bet(clause, rows, facts, looks)
    low, high = clause.attainable
    total = np.zeros(len(rows))
    for name, coefficient in clause.coefficients.items():
        total += coefficient * _row_values(name, clause, rows)
    x = np.clip((total - low) / (high - low), 0.0, 1.0)
    return x, (clause.threshold - low) / (high - low), np.array(looks)


def _row_values(name: str, clause: Clause, rows: Rows) -> NDArray[Any]:
    if name != "n" and rows.old is None:
        raise InputError(f"`{clause.text}` needs the old model's predictions")
    if name == "d":
        found: NDArray[Any] = rows.new != rows.old
        return found
    if rows.labels is None:
        raise InputError(f"`{clause.text}` needs the labels, which are not there")
    predictions = rows.new if name == "n" or rows.old is None else rows.old
    right: NDArray[Any] = predictions == rows.labels
    # Of a row of equal predictions only n - o is asked, which is 0 whatever its label.
    return right if rows.known is None else right & rows.known.astype(bool)


def _counted_bet(
    clause: Clause, rows: Rows, facts: Facts, looks: list[int]
) -> tuple[NDArray[Any], float, NDArray[Any]]:
    import numpy as np

    ((name, coefficient),) = clause.coefficients.items()
    x = _marked(clause, name, rows, facts).astype(float)
    mean = to_share(_metric(clause), min(1.0, limit_of(clause)))
    predictions, labels, positive = _parts(clause, name, rows, facts)
    at = np.cumsum(counting(_metric(clause), labels, predictions, positive))[np.array(looks) - 1]
    return (x, mean, at) if coefficient > 0 else (1 - x, 1 - mean, at)


def _marked(clause: Clause, name: str, rows: Rows, facts: Facts) -> NDArray[Any]:
    predictions, labels, positive = _parts(clause, name, rows, facts)
    return marks(_metric(clause), labels, predictions, positive)


def _parts(
    clause: Clause, name: str, rows: Rows, facts: Facts
) -> tuple[NDArray[Any], NDArray[Any], Any]:
    """Predictions, labels and the positive class."""
    predictions = rows.new if model_of(name) == "n" else rows.old
    if predictions is None or rows.labels is None:
        raise InputError(f"`{clause.text}` needs labels and both models' predictions")
    return predictions, rows.labels, facts.positive if rows.positive is None else rows.positive


def _metric(clause: Clause) -> str:
    (name,) = clause.coefficients
    return metric_of(name) or ""
