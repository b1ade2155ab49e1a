"""What a test set would cost otherwise: by other bounds, used otherwise, or with looser clauses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, replace

from runner.ci.bounds import NAMES
from runner.ci.condition import Clause, Condition
from runner.ci.guarantee import Guarantee
from runner.ci.intervals import Mode
from runner.ci.multiplicity import Reuse
from runner.ci.plan import Plan, make_plan
from runner.errors import InputError

_BUDGETS = (2, 3, 5)
_LOOSER = (0.01, 0.02)


@dataclass(frozen=True)
class Alternative:
    """Another plan.

    Attributes:
        what: What would be different: ``bound``, ``reuse`` or ``tolerance``.
        name: How.
        labels: What it would take.
        unlabelled: Rows without labels beside them.
        note: What it would mean; empty where the name says it.
    """

    what: str
    name: str
    labels: int
    unlabelled: int
    note: str = ""


def alternatives(plan: Plan) -> tuple[Alternative, ...]:
    """What the same condition would cost otherwise, where that is possible at all."""
    return (*_bounds(plan), *_reuses(plan), *_tolerances(plan))


def _bounds(plan: Plan) -> Iterator[Alternative]:
    if all(clause.metrics for clause in plan.guarantee.condition.clauses):
        return
    for name in NAMES:
        if name == plan.asked:
            continue
        try:
            other = make_plan(plan.guarantee, name)
        except InputError:
            continue
        note = "; ".join(other.assumptions)
        yield Alternative("bound", name, other.labels, other.unlabelled, note)


def _reuses(plan: Plan) -> Iterator[Alternative]:
    now = plan.guarantee.reuse
    others = [
        (
            "none",
            replace(now, kind="none", passes=None, outcomes=2),
            "the developer learns nothing",
        ),
        (
            "firstChange",
            replace(now, kind="firstChange", passes=None, outcomes=2),
            f"retired at the first {now.first}",
        ),
        *(
            (
                f"firstChange, passes: {budget}",
                replace(now, kind="firstChange", passes=budget, outcomes=2),
                f"retired at {now.first} number {budget}",
            )
            for budget in _BUDGETS
            if budget < now.steps
        ),
        ("full", replace(now, kind="full", passes=None, outcomes=2), "one bit told a step"),
        (
            "full, unknown told",
            replace(now, kind="full", passes=None, outcomes=3),
            "true, false or unknown told a step",
        ),
    ]
    for name, reuse, note in others:
        if reuse.ln_count != now.ln_count:
            yield from _other(plan, "reuse", name, reuse, note)
    if now.steps > 1:
        yield from _fresh_sets(plan)


def _fresh_sets(plan: Plan) -> Iterator[Alternative]:
    """The paper's trivial strategy: a test set a step, each at delta / H."""
    steps = plan.guarantee.reuse.steps
    name = f"{steps:,} test sets, one a step"
    for one in _other(plan, "reuse", name, Reuse("none", steps), "all released after their step"):
        yield replace(one, labels=one.labels * steps, unlabelled=one.unlabelled * steps)


def _other(plan: Plan, what: str, name: str, reuse: Reuse, note: str) -> Iterator[Alternative]:
    try:
        other = make_plan(replace(plan.guarantee, reuse=reuse), plan.asked)
    except InputError:
        return
    yield Alternative(what, name, other.labels, other.unlabelled, note)


def _tolerances(plan: Plan) -> Iterator[Alternative]:
    for more in _LOOSER:
        other = make_plan(loosened(plan.guarantee, more), plan.asked)
        name = f"+/- {more:g} more"
        yield Alternative("tolerance", name, other.labels, other.unlabelled)


def loosened(guarantee: Guarantee, more: float) -> Guarantee:
    """The same with every clause's tolerance larger by ``more``."""
    clauses = tuple(
        dataclasses.replace(clause, tolerance=clause.tolerance + more)
        for clause in guarantee.condition.clauses
    )
    return replace(guarantee, condition=Condition(clauses, guarantee.condition.text))


def warnings(condition: Condition, mode: Mode) -> tuple[str, ...]:
    """Clauses that can't but be the same for all models, and why."""
    found = []
    for clause in condition.clauses:
        low, high = clause.attainable
        upwards = clause.comparison == ">"
        if clause.threshold < low if upwards else clause.threshold > high:
            found.append(
                f"`{clause.text}` holds for all models: the left side lies between {low:g} and "
                f"{high:g}"
            )
            continue
        if mode == "fp-free":
            limit = clause.threshold + (clause.tolerance if upwards else -clause.tolerance)
            if limit >= high if upwards else limit <= low:
                found.append(_never(clause, "pass", limit, upwards, (low, high)))
        else:
            limit = clause.threshold - (clause.tolerance if upwards else -clause.tolerance)
            if limit <= low if upwards else limit >= high:
                found.append(_never(clause, "fail", limit, not upwards, (low, high)))
    return tuple(found)


def _never(clause: Clause, what: str, limit: float, above: bool, reach: tuple[float, float]) -> str:
    direction = "above" if above else "below"
    return (
        f"`{clause.text}` can never {what}: that takes an estimate {direction} {limit:g}, and "
        f"it lies between {reach[0]:g} and {reach[1]:g}"
    )
