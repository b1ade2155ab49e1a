"""Pattern 2 of the paper: d is measured first, on rows without labels, and says how many to label.

How many labels the test then needs isn't known before, so they are grown: measure, plan with what
was measured (``make_plan(..., measured=...)``), label the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.ci.bounds import hoeffding
from runner.ci.estimates import Rows, estimates
from runner.ci.guarantee import Guarantee
from runner.ci.plan import ln_inverse_share, make_plan
from runner.ci.requirement import is_difference, upper_limit_of_d, whole
from runner.errors import CannotRunError

SHARES = (0.02, 0.05, 0.1, 0.25)


@dataclass(frozen=True)
class Measurement:
    """What measuring d first would take and save.

    Attributes:
        rows: Without labels, for the estimate of d.
        half_width: Of that estimate: twice the smallest tolerance on n - o.
        labels: Then needed, by the upper limit of d that is found.
    """

    rows: int
    half_width: float
    labels: Sequence[tuple[float, int]]


def measurement(guarantee: Guarantee) -> Measurement | None:
    """What measuring d first would take; None without a clause on n - o, or with d bounded."""
    half_width = _half_width(guarantee)
    if half_width is None or guarantee.difference is not None:
        return None
    if any(upper_limit_of_d(clause) is not None for clause in guarantee.condition.clauses):
        return None
    rows = whole(hoeffding.samples(half_width, ln_inverse_share(guarantee, True)))
    labels = [(p, make_plan(guarantee, measured=p).labels) for p in SHARES]
    return Measurement(rows, half_width, tuple(labels))


def upper_difference(guarantee: Guarantee, pool: Rows) -> float:
    """An upper limit of d for two models, from their predictions on rows without labels.

    The rows must not be those of the test set.

    Raises:
        CannotRunError: If they are fewer than the estimate of d needs.
    """
    half_width = _half_width(guarantee)
    assert half_width is not None, "no clause is on n - o"
    needed = whole(hoeffding.samples(half_width, ln_inverse_share(guarantee, True)))
    if len(pool) < needed:
        raise CannotRunError(
            f"the pool of unlabelled rows has {len(pool):,} and measuring d needs {needed:,}"
        )
    return min(1.0, float(estimates(Rows(pool.new, pool.old))["d"]) + half_width)


def _half_width(guarantee: Guarantee) -> float | None:
    tolerances = [
        2 * 2 * clause.half_width for clause in guarantee.condition.clauses if is_difference(clause)
    ]
    return min(tolerances, default=None)
