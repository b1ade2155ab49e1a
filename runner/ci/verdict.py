"""The verdict on a new model: a pure function of the plan and the two models' predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from runner.ci.bounds import hoeffding
from runner.ci.condition import Clause, Variable
from runner.ci.estimates import Rows, estimates
from runner.ci.intervals import Truth, clause_truth, conjunction, passes
from runner.ci.metric_verdict import judge_metric
from runner.ci.metrics import Facts
from runner.ci.plan import Plan
from runner.ci.requirement import Coarse, Requirement, is_difference
from runner.errors import CannotRunError, InputError


@dataclass(frozen=True)
class ClauseJudgement:
    """What became of one clause.

    Attributes:
        estimate: Of the left side.
    """

    clause: Clause
    truth: Truth
    estimate: Fraction


@dataclass(frozen=True)
class Judgement:
    """The verdict on a model, with all that led to it.

    Only ``passed`` is the one bit that adaptive guarantees count on: whoever is shown more needs
    the ledger to know (:func:`runner.ci.multiplicity.ln_reveal_cost`).

    Attributes:
        truth: Of the whole condition, before the mode makes two values of three.
        passed: What the mode makes of it.
    """

    truth: Truth
    passed: bool
    clauses: tuple[ClauseJudgement, ...]


def judge(plan: Plan, tested: Rows, pool: Rows | None = None) -> Judgement:
    """Judge a new model.

    Args:
        tested: Both models' predictions on the test set, in the test set's own order.
        pool: Both models' predictions on the rows without labels; clauses that need no labels are
            judged on them where they are more than those of the test set.

    Raises:
        CannotRunError: If there are fewer rows than the plan needs, or the models differ more
            than it takes for granted: no verdict.
        InputError: If predictions or labels are missing.
    """
    check_rows(plan, len(tested), None if pool is None else len(pool))
    _check_difference(plan, tested if pool is None or len(pool) < len(tested) else pool)
    facts = plan.guarantee.facts
    clauses = tuple(_judged(found, tested, pool, facts) for found in plan.requirements)
    truth = conjunction(found.truth for found in clauses)
    return Judgement(truth, passes(truth, plan.guarantee.mode), clauses)


def check_rows(plan: Plan, tested: int, pool: int | None) -> None:
    """Refuse a test set that is too small for a plan.

    Args:
        tested: Rows of the test set, whether or not active labelling has labelled all of them.
        pool: Rows without labels; None where the test set serves for d as well.

    Raises:
        CannotRunError: With how many rows there are and how many it takes.
    """
    for requirement in plan.requirements:
        apart = _on_pool(requirement, tested, pool)
        held = (pool or 0) if apart else tested
        needed = requirement.rows if requirement.any_rows is None else requirement.any_rows
        if held < needed:
            where = "the pool of unlabelled rows" if apart else "the test set"
            raise CannotRunError(
                f"{where} has {held:,} rows and `{requirement.clause.text}` needs "
                f"{needed:,}; `runner ci size` has the plan"
            )


def _on_pool(requirement: Requirement, tested: int, pool: int | None) -> bool:
    """Whether a clause is judged on the pool: where it needs no labels and the pool is larger."""
    return not requirement.labelled and pool is not None and pool > tested


def _judged(
    requirement: Requirement, tested: Rows, pool: Rows | None, facts: Facts
) -> ClauseJudgement:
    clause = requirement.clause
    rows = tested
    if pool is not None and _on_pool(requirement, len(tested), len(pool)):
        rows = pool
    if requirement.labelled and not is_difference(clause):
        _check_all_known(clause, rows)
    if clause.metrics:
        return ClauseJudgement(clause, *judge_metric(requirement, rows, facts))
    coarse = requirement.coarse
    found = _estimates(clause, rows if coarse is None else rows.part(coarse.rows))
    truth = clause_truth(clause, found)
    if coarse is not None and _rejects(clause, coarse, rows):
        truth = Truth.FALSE
    value = sum((c * found[name] for name, c in clause.exact_coefficients.items()), Fraction(0))
    return ClauseJudgement(clause, truth, value)


def _check_all_known(clause: Clause, rows: Rows) -> None:
    if rows.known is not None and not bool(rows.known.all()):
        raise InputError(f"`{clause.text}` needs the labels of all rows, and some lack one")


def _rejects(clause: Clause, coarse: Coarse, rows: Rows) -> bool:
    """Whether the first rows alone put a one-variable clause's variable on the wrong side."""
    ((name, coefficient),) = clause.coefficients.items()
    first = float(_estimates(clause, rows.part(0, coarse.rows))[name])
    excess = first - clause.threshold / coefficient
    upwards = (clause.comparison == ">") == (coefficient > 0)
    return (-excess if upwards else excess) > coarse.half_width


def _estimates(clause: Clause, rows: Rows) -> Mapping[Variable, Fraction]:
    found = estimates(rows)
    missing = sorted(set(clause.coefficients) - set(found))
    if missing:
        what = "the labels" if "n" in missing else "the old model's predictions"
        raise InputError(f"`{clause.text}` needs {what}, which are not there")
    return found


def _check_difference(plan: Plan, rows: Rows) -> None:
    if plan.stated is None:
        return
    if rows.old is None:
        raise InputError("the old model's predictions are needed to compare the two models")
    ln_term = max(requirement.ln_inverse_delta for requirement in plan.requirements)
    least = float(estimates(Rows(rows.new, rows.old))["d"]) - hoeffding.half_width(
        len(rows), ln_term
    )
    if least > plan.stated:
        raise CannotRunError(
            f"the models differ on more rows than the plan takes for granted ({plan.stated:g}); "
            "give a larger `difference`, and the labels that its plan needs"
        )
