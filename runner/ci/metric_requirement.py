"""How many rows a clause needs that speaks of F1, precision, recall, AUC, RMSE or a rank."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from runner.ci.bounds import bennett, binomial, chernoff, hoeffding
from runner.ci.condition import Clause
from runner.ci.metrics import RANK, Facts, metric_of
from runner.ci.relevant import SHARES, share_width, to_share
from runner.ci.requirement import Requirement, whole
from runner.errors import InputError

CHERNOFF, UNION, PAIRED, MCNEMAR = "chernoff", "hoeffding", "paired", "mcnemar"


@dataclass(frozen=True)
class Need:
    """Rows that a clause needs, by what they must be.

    Attributes:
        rows: Of any kind.
        positives: Of the positive class, or with several classes of each.
        negatives: Of the others together.
        claimed: That the model predicts to be positive.
    """

    rows: float = 0.0
    positives: float = 0.0
    negatives: float = 0.0
    claimed: float = 0.0


def by_metric(clause: Clause, ln_inverse_delta: float, facts: Facts, steps: int) -> Requirement:
    """What a clause on metrics needs.

    Args:
        ln_inverse_delta: ln(k M / delta), for one clause and one history.
        steps: How many models the test set judges at most, for ranks among them.

    Raises:
        InputError: If something must be stated first, or no bound holds.
    """
    check_facts(clause, facts)
    if RANK in clause.coefficients:
        return _by_rank(clause, ln_inverse_delta + math.log(steps))
    difference = auc_difference(clause)
    if difference is not None and facts.classes == 2:
        return _by_paired_auc(clause, clause.tolerance / difference, ln_inverse_delta, facts)
    if len(clause.coefficients) == 1 and facts.classes == 2 and compared_alone(clause, facts):
        return _by_limit(clause, ln_inverse_delta, facts)
    return _by_union(clause, ln_inverse_delta, facts)


def auc_difference(clause: Clause) -> float | None:
    """The size of c in a clause on c * (auc(n) - auc(o)); None for others."""
    c = clause.exact_coefficients
    if set(c) == {"auc(n)", "auc(o)"} and c["auc(n)"] == -c["auc(o)"]:
        return abs(float(c["auc(n)"]))
    return None


def limit_of(clause: Clause) -> float:
    """The value that the only variable of a clause is compared with."""
    (coefficient,) = clause.coefficients.values()
    return clause.threshold / coefficient


def compared_alone(clause: Clause, facts: Facts) -> bool:
    """Whether the limit of a clause with one variable is a value that the variable can have."""
    (name,) = clause.coefficients
    most = 1.0
    if metric_of(name) == "rmse":
        assert facts.span is not None
        most = facts.span[1] - facts.span[0]
    return 0 < limit_of(clause) <= most


def check_facts(clause: Clause, facts: Facts) -> None:
    """Refuse a clause that says too little, or one for which no bound holds.

    Raises:
        InputError: With what to state.
    """
    metrics = {metric_of(name) for name in clause.metrics} - {"rank"}
    if "rmse" in metrics and facts.span is None:
        raise InputError(
            f"`{clause.text}` needs the least and the greatest number that labels and predictions "
            "can be: state them, as in `range: [0, 100]`"
        )
    if metrics - {"rmse"} and facts.classes == 2 and facts.positive is None:
        raise InputError(
            f"`{clause.text}` needs the positive class: state it, as in `positive: spam`, or for "
            "more than two classes how many there are, as in `classes: 5`"
        )
    if "precision" in metrics and facts.classes > 2:
        raise InputError(
            f"`{clause.text}`: no bound holds for the macro average of precision, since the rows "
            "predicted as each class may be any number; use recall, f1 or auc"
        )


def _by_rank(clause: Clause, ln_term: float) -> Requirement:
    # Any pair of models that differ by the tolerance is told apart: n - j is in [-1, 1].
    rows = hoeffding.samples(clause.tolerance, ln_term, 2.0) if clause.tolerance < 1 else 1.0
    how = f"by {clause.tolerance:g}" if clause.tolerance < 1 else "as far as the rows tell"
    return Requirement(
        clause,
        MCNEMAR,
        whole(rows),
        True,
        clause.tolerance,
        ln_term,
        assumption=f"models whose accuracies differ {how} are told apart",
    )


def _by_paired_auc(clause: Clause, tolerance: float, ln_term: float, facts: Facts) -> Requirement:
    each = hoeffding.samples(tolerance, ln_term, 2.0)
    found = _required(clause, PAIRED, Need(0, each, each), tolerance, ln_term, facts)
    if facts.reordered is None:
        return found
    ln_both = ln_term + math.log(2)
    each = bennett.samples(tolerance, facts.reordered, ln_both)
    stated = replace(
        _required(clause, PAIRED, Need(0, each, each), tolerance, ln_both, facts),
        second_moment=facts.reordered,
        assumption=f"at most {facts.reordered:g} of the pairs of a positive and a negative row are "
        "ordered differently by the two models, as `reordered` states",
    )
    return min(stated, found, key=lambda one: one.rows)


def _by_limit(clause: Clause, ln_term: float, facts: Facts) -> Requirement:
    """One metric against a number: the distribution's worst case is at that number."""
    ((name, coefficient),) = clause.coefficients.items()
    metric, limit = metric_of(name), limit_of(clause)
    tolerance = clause.tolerance / abs(coefficient)
    if metric == "auc":
        each = chernoff.samples(limit, tolerance, ln_term)
        return _required(clause, CHERNOFF, Need(0, each, each), tolerance, ln_term, facts)
    if metric == "rmse":
        assert facts.span is not None
        square = (facts.span[1] - facts.span[0]) ** 2
        below = limit**2 - max(0.0, limit - tolerance) ** 2
        width = below if tolerance < limit else (limit + tolerance) ** 2 - limit**2
        rows = chernoff.samples(limit**2 / square, width / square, ln_term)
        return _required(clause, CHERNOFF, Need(rows), tolerance, ln_term, facts)
    assert metric is not None
    width = share_width(metric, tolerance, limit)
    rows = chernoff.samples(to_share(metric, limit), width, ln_term)
    exactly = binomial.samples(width, ln_term) if width < 1 else 1
    bound = CHERNOFF
    if exactly is not None and exactly < rows:
        rows, bound = exactly, "binomial"
    need = Need(claimed=rows) if metric == "precision" else Need(positives=rows)
    return _required(clause, bound, need, tolerance, ln_term, facts)


def _by_union(clause: Clause, ln_inverse_delta: float, facts: Facts) -> Requirement:
    """A sum: each variable, of each class, to an equal half-width with an equal part of delta."""
    classes = facts.classes if facts.classes > 2 else 1
    ln_term = ln_inverse_delta + math.log(len(clause.coefficients) * classes)
    needs = [_alone(name, clause.half_width, ln_term, facts) for name in clause.coefficients]
    return _required(clause, UNION, _largest(needs), clause.half_width, ln_term, facts)


def _alone(name: str, half_width: float, ln_term: float, facts: Facts) -> Need:
    metric = metric_of(name)
    if metric == "auc":
        each = hoeffding.samples(half_width, ln_term)
        return Need(0, each, each)
    if metric == "rmse":
        assert facts.span is not None
        # Square roots are no further apart than the root of the squares' distance.
        span = facts.span[1] - facts.span[0]
        return Need(hoeffding.samples((half_width / span) ** 2, ln_term))
    if metric is not None and metric in SHARES:
        rows = hoeffding.samples(share_width(metric, half_width), ln_term)
        return Need(claimed=rows) if metric == "precision" else Need(positives=rows)
    return Need(hoeffding.samples(half_width, ln_term))


def _largest(needs: Iterable[Need]) -> Need:
    found = list(needs)
    return Need(
        max(need.rows for need in found),
        max(need.positives for need in found),
        max(need.negatives for need in found),
        max(need.claimed for need in found),
    )


def _required(
    clause: Clause, bound: str, need: Need, half_width: float, ln_term: float, facts: Facts
) -> Requirement:
    """Rows of any kind from rows of a class: as many as hold them if shares are as stated."""
    share = facts.share or 0.0
    positives = whole(need.positives) if need.positives else 0
    negatives = whole(need.negatives) if need.negatives else 0
    claimed = whole(need.claimed) if need.claimed else 0
    classes = positives * facts.classes if facts.classes > 2 else positives + negatives
    rows = max(whole(need.rows), classes, claimed)
    if share:
        rows = max(rows, whole(max(positives, negatives, claimed) / share))
    said = []
    if claimed:
        said.append(f"{claimed:,} rows are predicted to be positive; with fewer it is unknown")
    if positives and facts.classes > 2:
        said.append(f"{positives:,} rows are of each class")
    elif positives:
        others = f" and {negatives:,} of the others" if negatives else ""
        said.append(f"{positives:,} rows are of the positive class{others}")
    return Requirement(
        clause,
        bound,
        rows,
        True,
        half_width,
        ln_term,
        assumption="; ".join(said) or None,
        positives=positives,
        negatives=negatives,
        claimed=claimed,
        any_rows=whole(need.rows),
    )
