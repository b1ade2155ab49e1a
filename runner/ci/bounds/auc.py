"""How far an AUC on m positives and q negatives is from its expectation, with m and q as they are.

An AUC is a two-sample U-statistic: the average, over all ways to pair min(m, q) positives with as
many negatives, of averages of independent pairs. So whatever bounds the mean of k = min(m, q)
independent rows by its moment generating function bounds the AUC (Hoeffding 1963, section 5). This
is never weaker than McDiarmid's inequality (Agarwal et al. 2005), which has 2mq/(m + q) instead of
2 min(m, q), and takes half the rows where both classes are equally large.
"""

from __future__ import annotations

import math

from runner.ci.bounds import bennett, chernoff, hoeffding


def half_width(positives: int, negatives: int, ln_inverse_delta: float, span: float = 1.0) -> float:
    """One-sided; for both sides add ln 2 to ``ln_inverse_delta``.

    Args:
        span: 1 for one AUC, 2 for the difference of two on the same rows.
    """
    return hoeffding.half_width(min(positives, negatives), ln_inverse_delta, span)


def paired_half_width(
    positives: int, negatives: int, reordered: float, ln_inverse_delta: float
) -> float:
    """For AUC_new - AUC_old, by how many pairs the two models order differently.

    That share bounds the second moment of a pair's difference. It is an average over pairs too, so
    a first third of delta gives an upper limit of it on the same rows; Bennett's inequality takes
    the rest for both sides. Never above Hoeffding's bound for both sides at two thirds of delta.

    Args:
        reordered: The share of (positive, negative) pairs whose order differs between the models.
    """
    rows = min(positives, negatives)
    ln_third = ln_inverse_delta + math.log(3)
    moment = chernoff.upper_limit(reordered, rows, ln_third)
    return min(
        bennett.half_width(rows, moment, ln_third),
        hoeffding.half_width(rows, ln_third, 2.0),
    )
