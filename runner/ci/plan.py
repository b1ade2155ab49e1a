"""The plan for a test set: how many labels, by which bound, and which clause decides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from runner.ci.bounds import NAMES, bennett
from runner.ci.condition import Clause
from runner.ci.guarantee import Guarantee
from runner.ci.metric_requirement import by_metric
from runner.ci.requirement import (
    MOST_ROWS,
    Requirement,
    Share,
    by_bennett,
    by_binomial,
    by_hoeffding,
    is_difference,
    whole,
)
from runner.errors import InputError, suggestion


@dataclass(frozen=True)
class ActiveLabelling:
    """Labels a commit where only rows are labelled on which the two models differ (section 4.1.2).

    Attributes:
        differing: The share of rows on which they differ at most.
        pool: Rows without labels to choose from.
        reused: Labels a commit from a pool that serves all steps; the promise is that of the plan.
        fresh: Labels a commit from a pool of its own, of ``fresh_pool`` rows; the promise then
            holds for each commit by itself.
    """

    differing: float
    pool: int
    reused: int
    fresh: int
    fresh_pool: int


@dataclass(frozen=True)
class Plan:
    """What a test set must hold so that a guarantee is kept.

    Attributes:
        asked: The bound that was asked for.
        bound: That of the deciding clause.
        requirements: In the order of the clauses.
        deciding: The index of the clause that needs most.
        labels: Rows with labels to provide. Where no clause speaks of accuracy they are rows all
            the same, but need no labels (``labelled`` says so).
        positives: How many of the labels must be of the positive class, with several classes of
            each; 0 where that doesn't matter.
        negatives: How many must be of the other class.
        unlabelled: Rows without labels that d is estimated on beside them; 0 for none.
        active: None where rows of equal predictions need labels too.
    """

    guarantee: Guarantee
    asked: str
    bound: str
    requirements: tuple[Requirement, ...]
    deciding: int
    labels: int
    labelled: bool
    unlabelled: int
    active: ActiveLabelling | None
    positives: int = 0
    negatives: int = 0

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true besides rows that are independent draws of what models will meet."""
        return tuple(dict.fromkeys(r.assumption for r in self.requirements if r.assumption))

    @property
    def stated(self) -> float | None:
        """The share of differing rows that the plan takes on trust; None where it takes none."""
        return min((r.stated for r in self.requirements if r.stated is not None), default=None)


def make_plan(guarantee: Guarantee, bound: str = "auto", *, measured: float | None = None) -> Plan:
    """The plan by a bound, one of :data:`runner.ci.bounds.NAMES`.

    ``hoeffding``, ``bennett`` and ``binomial`` give the paper's numbers. ``auto`` takes for each
    clause the bound that needs fewest rows, ``bennett`` among them only where the share of
    differing rows is bounded by a clause, stated or measured, and then for all models that pass.

    Args:
        measured: What :func:`runner.ci.difference.upper_difference` says of the two models.

    Raises:
        InputError: If the bound doesn't hold for the condition, or no test set is large enough.
    """
    if bound not in NAMES:
        raise InputError(f"there is no bound {bound!r}: {suggestion(bound, NAMES)}")
    clauses = guarantee.condition.clauses
    share = _share(guarantee, bound, measured)
    requirements = tuple(
        _requirement(clause, share, bound)
        if not clause.metrics
        else by_metric(clause, share.ln_inverse_delta, guarantee.facts, guarantee.reuse.steps)
        for clause in clauses
    )
    plain = [r for r in requirements if not r.clause.metrics]
    if bound == "bennett" and plain and not any(r.bound == "bennett" for r in plain):
        raise InputError(
            "the bound bennett holds for clauses on n - o and for one accuracy with a limit near "
            "its end, and there is none; use hoeffding or auto"
        )
    # Section 3 knows one kind of row; by the other bounds what only speaks of d needs no labels.
    apart = bound != "hoeffding" and any(r.labelled for r in requirements)
    counted = [i for i, r in enumerate(requirements) if r.labelled or not apart]
    deciding = max(counted, key=lambda i: requirements[i].rows)
    labels = requirements[deciding].rows
    if labels >= MOST_ROWS:
        raise InputError(
            f"`{requirements[deciding].clause.text}` needs more than {MOST_ROWS:.0e} labels; give "
            "it a larger tolerance, or the test set fewer steps"
        )
    return Plan(
        guarantee,
        bound,
        requirements[deciding].bound,
        requirements,
        deciding,
        labels,
        requirements[deciding].labelled,
        max((r.rows for r in requirements if not r.labelled and apart), default=0),
        _active(guarantee, requirements),
        max(r.positives for r in requirements),
        max(r.negatives for r in requirements),
    )


def _share(guarantee: Guarantee, bound: str, measured: float | None) -> Share:
    named = bound == "bennett"
    return Share(
        guarantee.condition,
        ln_inverse_share(guarantee, measured is not None),
        guarantee.difference,
        measured,
        guarded=not named,
        assume=named,
    )


def ln_inverse_share(guarantee: Guarantee, measured: bool = False) -> float:
    """ln(1/delta') for each clause: delta shared among clauses, histories and the estimate of d.

    Args:
        measured: Whether d is estimated apart from the clauses, for its upper limit.
    """
    events = len(guarantee.condition.clauses) + measured
    return math.log(events) + guarantee.reuse.ln_count - math.log(guarantee.delta)


def _requirement(clause: Clause, share: Share, bound: str) -> Requirement:
    if bound == "hoeffding":
        return by_hoeffding(clause, share)
    if bound == "bennett":
        return by_bennett(clause, share) or by_hoeffding(clause, share)
    exactly = by_binomial(clause, share)
    if bound == "binomial":
        if exactly is None:
            raise InputError(_no_binomial(clause.text, len(clause.coefficients)))
        return exactly
    found = [by_hoeffding(clause, share), by_bennett(clause, share), exactly]
    return min((r for r in found if r is not None), key=lambda r: r.rows)


def _no_binomial(text: str, variables: int) -> str:
    if variables > 1:
        return (
            f"the bound binomial holds for one variable, and `{text}` has {variables}; "
            "use hoeffding or auto"
        )
    return f"the bound binomial can't tell row numbers as large as `{text}` needs; use hoeffding"


def _active(guarantee: Guarantee, requirements: Sequence[Requirement]) -> ActiveLabelling | None:
    labelled = [r for r in requirements if r.labelled]
    if not labelled or not all(r.second_moment and is_difference(r.clause) for r in labelled):
        return None
    most = max(labelled, key=lambda r: r.rows)
    p = most.second_moment
    assert p is not None
    alone = most.ln_inverse_delta - guarantee.reuse.ln_count
    fresh = bennett.samples(most.half_width, p, alone)
    reused = bennett.samples(most.half_width, p, most.ln_inverse_delta)
    return ActiveLabelling(p, most.rows, whole(p * reused), whole(p * fresh), whole(fresh))
