"""What a step tells the developer, and what telling more than one bit costs all later steps."""

from __future__ import annotations

import math
from typing import Literal

from runner.ci.guarantee import Guarantee
from runner.ci.multiplicity import ln_reveal_cost, score_outcomes

Release = Literal["bit", "outcome", "scores"]
"""``bit``: pass or fail. ``outcome``: true, false or unknown besides. ``scores``: each clause's
outcome and estimate besides."""
RELEASES: tuple[Release, ...] = ("bit", "outcome", "scores")


def more(first: Release, second: Release) -> bool:
    """Whether the first tells more than the second."""
    return RELEASES.index(first) > RELEASES.index(second)


def release_cost(guarantee: Guarantee, release: Release, passed: bool, rows: int) -> float:
    """What a step's release adds to ln M of the steps after it.

    Args:
        passed: What came out. Where a test set has a budget of passes, only the branch that was
            taken is split: in the mode ``fp-free`` a pass can only be "true".
        rows: Of the larger of test set and pool.
    """
    if release == "bit":
        return 0.0
    if release == "scores":
        return ln_reveal_cost(score_outcomes(rows, len(guarantee.condition.variables)))
    if guarantee.reuse.budget is None:
        # Three branches share what two did, so that H such steps have 3^H histories.
        return math.log(3 / 2)
    split = passed if guarantee.mode == "fn-free" else not passed
    return ln_reveal_cost(2 if split else 1)
