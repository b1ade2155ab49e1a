"""How many rows one clause needs, by each of the bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from runner.ci.bounds import bennett, binomial, hoeffding
from runner.ci.condition import Clause, Condition

ASSUMED_DIFFERENCE = 0.1
"""The share of rows on which two models are taken to differ where ``bennett`` is called for and
nothing else says; the paper's section 5 takes it."""

MOST_ROWS = 10**15


@dataclass(frozen=True)
class Coarse:
    """A first estimate that tells how small a variance the second one meets.

    Attributes:
        rows: The first rows of the test set make it; the others make the second.
        half_width: Of the first estimate.
    """

    rows: int
    half_width: float


@dataclass(frozen=True)
class Requirement:
    """What a clause needs by one bound.

    Attributes:
        bound: ``hoeffding``, ``bennett`` or ``binomial``.
        rows: How many.
        labelled: Whether they need labels; what only speaks of d doesn't.
        half_width: Of each variable's estimate; for ``bennett`` on n - o of the difference.
        second_moment: What ``bennett`` rests on; None for the others.
        ln_inverse_delta: ln(1/delta) for the one estimate, after all sharing out.
        coarse: The estimate that comes first, where ``bennett`` needs one.
        assumption: What must be true besides independent rows; None for nothing.
        stated: The share of differing rows that was stated or assumed, not tested.
        positives: Of the rows, those of the positive class; with several classes of each.
        negatives: Of the rows, those of the other class.
        claimed: Of the rows, those that a model predicts to be positive.
        any_rows: How many there must be whatever they are, where that is fewer than ``rows``.
    """

    clause: Clause
    bound: str
    rows: int
    labelled: bool
    half_width: float
    ln_inverse_delta: float
    second_moment: float | None = None
    coarse: Coarse | None = None
    assumption: str | None = None
    stated: float | None = None
    positives: int = 0
    negatives: int = 0
    claimed: int = 0
    any_rows: int | None = None


@dataclass(frozen=True)
class Share:
    """What a clause may count on.

    Attributes:
        condition: The clause's, whose other clauses may say how much the models differ.
        ln_inverse_delta: ln(k M / delta): what is left of delta for one clause and one history.
        difference: See :class:`runner.ci.guarantee.Guarantee`.
        measured: An upper limit of d that rows without labels gave.
        guarded: Whether n - o is to be estimated well for every pair of models that passes the
            clause on d by its estimate, not only for those that satisfy it.
        assume: Whether :data:`ASSUMED_DIFFERENCE` may stand in for a difference nobody stated.
    """

    condition: Condition
    ln_inverse_delta: float
    difference: float | None = None
    measured: float | None = None
    guarded: bool = True
    assume: bool = False


def by_hoeffding(clause: Clause, share: Share) -> Requirement:
    """Section 3's estimator, delta shared out equally among a clause's variables."""
    ln_term = share.ln_inverse_delta + math.log(len(clause.coefficients))
    rows = hoeffding.samples(clause.half_width, ln_term)
    return Requirement(
        clause, "hoeffding", whole(rows), needs_labels(clause), clause.half_width, ln_term
    )


def by_binomial(clause: Clause, share: Share) -> Requirement | None:
    """The exact number for a clause of one variable; None for others and beyond its range."""
    if len(clause.coefficients) != 1:
        return None
    # No share is further than 1 from its expectation.
    exactly = (
        1 if clause.half_width >= 1 else binomial.samples(clause.half_width, share.ln_inverse_delta)
    )
    if exactly is None:
        return None
    return Requirement(
        clause,
        "binomial",
        exactly,
        needs_labels(clause),
        clause.half_width,
        share.ln_inverse_delta,
    )


def by_bennett(clause: Clause, share: Share) -> Requirement | None:
    """Section 4's estimators; None for a clause that fits neither of their patterns."""
    if _multiple_of_difference(clause) is not None:
        return _paired(clause, share)
    if len(clause.coefficients) == 1 and needs_labels(clause):
        return _near_the_end(clause, share)
    return None


def _paired(clause: Clause, share: Share) -> Requirement | None:
    """Patterns 1 and 2: the difference of two models that differ on few rows."""
    multiple = _multiple_of_difference(clause)
    assert multiple is not None
    found = _difference(share)
    if found is None:
        return None
    p, assumption, stated = found
    ln_term = share.ln_inverse_delta + math.log(2)
    tolerance = clause.tolerance / abs(multiple)
    return Requirement(
        clause,
        "bennett",
        whole(bennett.samples(tolerance, p, ln_term)),
        True,
        tolerance,
        ln_term,
        second_moment=p,
        assumption=assumption,
        stated=stated,
    )


def _difference(share: Share) -> tuple[float, str, float | None] | None:
    """A bound on d, in words what it rests on, and whether it is merely stated."""
    found: list[tuple[float, str, float | None]] = []
    for clause in share.condition.clauses:
        limit = upper_limit_of_d(clause)
        if limit is None:
            continue
        slack = 2 * clause.half_width if share.guarded else 0.0
        whence = f"d is at most {limit + slack:g}: `{clause.text}` is tested first"
        found.append((limit + slack, whence, None))
    if share.difference is not None:
        stated = share.difference
        found.append((stated, f"d is at most {stated:g}, as `difference` states", stated))
    if share.measured is not None:
        found.append((share.measured, f"d was measured: at most {share.measured:g}", None))
    if not found and share.assume:
        stated = ASSUMED_DIFFERENCE
        told = f"d is at most {stated:g}, which nothing states: give `difference`"
        found.append((stated, told, stated))
    return min(found, key=lambda one: one[0], default=None)


def upper_limit_of_d(clause: Clause) -> float | None:
    """A in a clause that says d < A; None for other clauses and where A isn't above 0."""
    if set(clause.coefficients) != {"d"}:
        return None
    coefficient = clause.coefficients["d"]
    limit = clause.threshold / coefficient
    upper = (clause.comparison == "<") == (coefficient > 0)
    return limit if upper and limit > 0 else None


def _near_the_end(clause: Clause, share: Share) -> Requirement | None:
    """Section 4's variant for a variable near 1 (or 0), where the variance is small.

    A coarse estimate on rows of its own comes first, half of delta each: what it doesn't reject has
    a variance of at most p.
    """
    distance = distance_to_end(clause)
    coarse_width = 2 * clause.half_width
    p = None if distance is None else distance + 2 * coarse_width
    if p is None or p >= 1:
        return None
    ln_coarse = share.ln_inverse_delta + math.log(2)
    ln_term = ln_coarse + math.log(2)
    coarse = whole(hoeffding.samples(coarse_width, ln_coarse))
    rows = coarse + whole(bennett.samples(clause.half_width, p, ln_term))
    return Requirement(
        clause,
        "bennett",
        whole(rows),
        True,
        clause.half_width,
        ln_term,
        second_moment=p,
        coarse=Coarse(coarse, coarse_width),
        assumption=f"the first {coarse:,} rows find the variance to be at most {p:g}",
    )


def distance_to_end(clause: Clause) -> float | None:
    """How far a one-variable clause's limit is from the end it demands: 1 - A for v > A."""
    (coefficient,) = clause.coefficients.values()
    limit = clause.threshold / coefficient
    upwards = (clause.comparison == ">") == (coefficient > 0)
    distance = 1 - limit if upwards else limit
    return distance if 0 < distance < 1 else None


def is_difference(clause: Clause) -> bool:
    """Whether a clause is on a multiple of n - o: then rows of equal predictions need no label."""
    return _multiple_of_difference(clause) is not None


def _multiple_of_difference(clause: Clause) -> float | None:
    c = clause.exact_coefficients
    if set(c) == {"n", "o"} and c["n"] == -c["o"]:
        return float(c["n"])
    return None


def needs_labels(clause: Clause) -> bool:
    """Whether a clause speaks of accuracy; d is known from the predictions alone."""
    return set(clause.coefficients) != {"d"}


def whole(rows: float) -> int:
    """Whole rows, at least one; :data:`MOST_ROWS` stands for any number above."""
    return MOST_ROWS if rows >= MOST_ROWS else max(1, math.ceil(rows))
