"""What a step tells the developer, and what telling more than one bit costs all later steps."""

from __future__ import annotations

import math
from typing import Literal

from runner.ci.condition import Variable
from runner.ci.guarantee import Guarantee
from runner.ci.metrics import RANK, Facts, metric_of
from runner.ci.multiplicity import ln_reveal_cost, score_outcomes
from runner.errors import InputError

Release = Literal["bit", "outcome", "scores"]
"""``bit``: pass or fail. ``outcome``: true, false or unknown besides. ``scores``: each clause's
outcome and estimate besides."""
RELEASES: tuple[Release, ...] = ("bit", "outcome", "scores")


def more(first: Release, second: Release) -> bool:
    """Whether the first tells more than the second."""
    return RELEASES.index(first) > RELEASES.index(second)


def release_cost(
    guarantee: Guarantee,
    release: Release,
    passed: bool,
    rows: int,
    *,
    afterwards: bool = False,
    looks: int = 1,
) -> float:
    """What a step's release adds to ln M of the steps after it.

    Args:
        passed: What came out. Where a test set has a budget of passes, or the bit was known before
            more was asked for, only the branch that was taken is split: in the mode ``fp-free`` a
            pass can only be "true".
        rows: Of the larger of test set and pool.
        afterwards: Whether the bit was told first, and more in a later call.
        looks: At how many numbers of rows the test may have ended: scores give away at which.

    Raises:
        InputError: If a score may be any number, so that its outcomes can't be counted.
    """
    if release == "bit":
        return 0.0
    if release == "scores":
        counts = sum(_counts(name, guarantee.facts) for name in guarantee.condition.variables)
        return ln_reveal_cost(looks * score_outcomes(rows, counts))
    if guarantee.reuse.budget is None and not afterwards:
        # Three branches share what two did, so that H such steps have 3^H histories.
        return math.log(3 / 2)
    split = passed if guarantee.mode == "fn-free" else not passed
    return ln_reveal_cost(2 if split else 1)


def _counts(variable: Variable, facts: Facts) -> int:
    """How many counts of rows a variable is made of; each has as many outcomes as rows, and one."""
    metric = metric_of(variable)
    if metric == "rmse":
        raise InputError(
            "an rmse can be any number, so what its score tells can't be counted; "
            "use --reveal outcome"
        )
    # Right and wrong positives and missed ones of each class; an AUC counts pairs of rows.
    return 1 if metric is None or variable == RANK else 3 * facts.classes
