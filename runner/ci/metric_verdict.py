"""What becomes of a clause on metrics: a pure function of what it needs and the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from runner.ci.bounds import auc as bound
from runner.ci.bounds import chernoff
from runner.ci.condition import Clause, exact
from runner.ci.estimates import Rows, share_right
from runner.ci.intervals import Truth, truth_between
from runner.ci.metric_requirement import auc_difference
from runner.ci.metrics import RANK, Facts, metric_of, model_of
from runner.ci.pairs import class_sizes, paired_auc
from runner.ci.ranks import rank
from runner.ci.relevant import SHARES, counts, to_metric
from runner.ci.requirement import Requirement
from runner.errors import CannotRunError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Judged = tuple[Truth, Fraction]
"""A clause's truth, and the estimate of its left side; 0 where it has none."""


def judge_metric(requirement: Requirement, rows: Rows, facts: Facts) -> Judged:
    """Judge a clause on metrics.

    Raises:
        CannotRunError: If a class has fewer rows than are needed, or what was stated isn't so.
        InputError: If labels, scores or predictions are missing.
    """
    clause = requirement.clause
    if rows.labels is None:
        raise InputError(f"`{clause.text}` needs the labels, which are not there")
    if RANK in clause.coefficients:
        return _rank(requirement, rows)
    if auc_difference(clause) is not None and facts.classes == 2:
        return _paired(requirement, rows, facts)
    total = Fraction(0)
    for name, coefficient in clause.exact_coefficients.items():
        value = _estimate(name, requirement, rows, facts)
        if value is None:
            return Truth.UNKNOWN, Fraction(0)
        total += coefficient * exact(value)
    return _around(clause, total), total


def _around(clause: Clause, estimate: Fraction) -> Truth:
    width = exact(clause.tolerance)
    return truth_between(clause, estimate - width, estimate + width)


def _rank(requirement: Requirement, rows: Rows) -> Judged:
    import numpy as np

    if rows.earlier is None:
        raise InputError(f"`{requirement.clause.text}` needs the earlier models' predictions")
    found = rank(
        np.asarray(rows.new == rows.labels),
        np.asarray(rows.earlier == rows.labels),
        requirement.ln_inverse_delta,
    )
    clause = requirement.clause
    return truth_between(clause, Fraction(found.low), Fraction(found.high)), Fraction(
        found.estimate
    )


def _paired(requirement: Requirement, rows: Rows, facts: Facts) -> Judged:
    """Both AUCs on the same pairs: to the tolerance, by the plan or by the variance found.

    Which of the two is decided by the sizes of the classes alone, as is a refusal. What the order
    of the pairs leaves open is unknown, which is a verdict: a refusal would cost no step, and tell
    which models order the pairs alike.
    """
    clause = requirement.clause
    new, old = (_scores(clause, rows, model) for model in "no")
    truly = rows.labels == _positive(rows, facts)
    ln_term = requirement.ln_inverse_delta
    found = paired_auc(truly, new, old, ln_term)
    least = min(found.positives, found.negatives)
    unit = auc_difference(clause)
    assert unit is not None
    if least < requirement.positives:
        narrowest = bound.paired_half_width(found.positives, found.negatives, 0.0, ln_term)
        if narrowest * unit > clause.tolerance:
            raise CannotRunError(
                f"the test set has {found.positives:,} rows of the positive class and "
                f"{found.negatives:,} of the others, and `{clause.text}` needs "
                f"{requirement.positives:,} of each; so few aren't enough for any two models"
            )
        certain = found.half_width * unit <= clause.tolerance
    else:
        certain = not _contradicted(found.reordered, least, requirement)
    c = clause.exact_coefficients["auc(n)"]
    estimate = c * exact(found.difference)
    return _around(clause, estimate) if certain else Truth.UNKNOWN, estimate


def _contradicted(share: float, rows: int, requirement: Requirement) -> bool:
    """Whether the rows refute that so few pairs are ordered apart as was stated."""
    stated = requirement.second_moment
    if stated is None or share <= stated:
        return False
    return rows * chernoff.divergence(share, stated) > requirement.ln_inverse_delta


def _estimate(
    name: str, requirement: Requirement, rows: Rows, facts: Facts
) -> Fraction | float | None:
    """A variable's estimate; None where too few rows count for it."""
    metric, model = metric_of(name), model_of(name)
    if metric is None:
        return _plain(name, requirement.clause, rows)
    if metric == "rmse":
        return _rmse(requirement.clause, rows, model, facts)
    found: list[Fraction | float] = []
    for index, positive in enumerate(_classes(rows, facts)):
        _check_class(requirement, rows, positive, facts)
        value = (
            _auc(requirement.clause, rows, model, positive, index if facts.classes > 2 else None)
            if metric == "auc"
            else _counted(metric, requirement, rows, model, positive)
        )
        if value is None:
            return None
        found.append(value)
    return sum((exact(value) for value in found), Fraction(0)) / len(found)


def _plain(name: str, clause: Clause, rows: Rows) -> Fraction:
    if name != "n" and rows.old is None:
        raise InputError(f"`{clause.text}` needs the old model's predictions")
    if name == "d":
        return Fraction(int((rows.new != rows.old).sum()), len(rows))
    return share_right(rows, _predictions(clause, rows, name))


def _counted(
    metric: str, requirement: Requirement, rows: Rows, model: str, positive: Any
) -> Fraction | None:
    labels = rows.labels
    assert labels is not None
    share = SHARES[metric](counts(labels, _predictions(requirement.clause, rows, model), positive))
    least = requirement.claimed if metric == "precision" else requirement.positives
    if share.rows < max(1, least):
        return None
    return to_metric(metric, Fraction(share.right, share.rows))


def _auc(clause: Clause, rows: Rows, model: str, positive: Any, index: int | None) -> float:
    from runner.metrics import auc

    scores = _scores(clause, rows, model)
    truly = rows.labels == positive
    class_sizes(truly)
    if index is None:
        return auc(truly.astype(int), scores)
    if scores.ndim != 2 or index >= scores.shape[1]:
        raise InputError(f"`{clause.text}` needs scores of each class: a column a class")
    return auc(truly.astype(int), scores[:, index])


def _rmse(clause: Clause, rows: Rows, model: str, facts: Facts) -> float:
    assert facts.span is not None
    low, high = facts.span
    predicted = _scores(clause, rows, model)
    labels = rows.labels
    assert labels is not None
    for values, what in ((labels, "labels"), (predicted, "predictions")):
        if values.dtype.kind not in "iuf":
            raise InputError(f"`{clause.text}` needs {what} that are numbers")
        outside = int(((values < low) | (values > high)).sum())
        if outside:
            raise CannotRunError(
                f"{outside:,} {what} lie outside the stated range {low:g} to {high:g}, on which "
                "the bound of an RMSE rests; state a wider `range`, or clip predictions"
            )
    return math.sqrt(float(((predicted - labels) ** 2).mean()))


def _check_class(requirement: Requirement, rows: Rows, positive: Any, facts: Facts) -> None:
    held = int((rows.labels == positive).sum())
    # Of several classes rows may hold numbers that stand for them, which tell a reader nothing.
    two = facts.classes == 2
    own = f"of the class {facts.positive!r}" if two else "of one of the classes"
    others = f"of other classes than {facts.positive!r}" if two else "outside one of the classes"
    for needed, there, what in (
        (requirement.positives, held, own),
        (requirement.negatives, len(rows) - held, others),
    ):
        if there < needed:
            raise CannotRunError(
                f"the test set has {there:,} rows {what} and `{requirement.clause.text}` needs "
                f"{needed:,}; `runner ci size` has the plan"
            )


def _classes(rows: Rows, facts: Facts) -> Iterator[Any]:
    """The classes whose metrics are averaged: the positive one, or each of several."""
    if facts.classes == 2:
        yield _positive(rows, facts)
        return
    import numpy as np

    assert rows.labels is not None
    found = np.unique(rows.labels)
    if len(found) != facts.classes:
        raise CannotRunError(
            f"the labels are of {len(found):,} classes, and `classes` states {facts.classes:,}"
        )
    yield from found


def _positive(rows: Rows, facts: Facts) -> Any:
    return facts.positive if rows.positive is None else rows.positive


def _predictions(clause: Clause, rows: Rows, model: str) -> NDArray[Any]:
    found = rows.new if model == "n" else rows.old
    if found is None:
        raise InputError(f"`{clause.text}` needs the old model's predictions")
    return found


def _scores(clause: Clause, rows: Rows, model: str) -> NDArray[Any]:
    found = rows.new_scores if model == "n" else rows.old_scores
    if found is None:
        whose = "new" if model == "n" else "old"
        raise InputError(f"`{clause.text}` needs the {whose} model's scores: a number a row")
    if found.dtype.kind == "f" and bool((found != found).any()):
        raise InputError(f"`{clause.text}` needs scores that are numbers, and some are NaN")
    return found
