"""One step on a test set: judged and recorded under the ledger's lock, before anyone is told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from runner.ci import account as lines
from runner.ci.account import Account, Step
from runner.ci.difference import measurement, upper_difference
from runner.ci.earlier import keep, with_earlier
from runner.ci.file import CiFile
from runner.ci.fresh import check_fresh, keep_ids
from runner.ci.guarantee import Guarantee
from runner.ci.ledger import Ledger, locked, read
from runner.ci.ledgers import check_rows_of, check_terms, ledger_path, open_account, used_up
from runner.ci.metrics import RANK
from runner.ci.plan import Plan, make_plan
from runner.ci.predictions import HeldOut, Joined, digest
from runner.ci.release import Release, more, release_cost
from runner.ci.result import sealed_result
from runner.ci.sequential import judge_sequentially, make_sequential_plan, to_label
from runner.ci.verdict import Judgement, check_rows, judge
from runner.errors import CannotRunError, InputError


@dataclass(frozen=True)
class Taken:
    """A step that is recorded.

    Attributes:
        passed: The one bit for the developer; None with adaptivity ``none``.
        judgement: All that led to it, for those who may see it; None where nobody is to, or the
            result is sealed in the step.
        repeated: Whether the same predictions were judged before: the verdict is that of then,
            and no further step is counted.
        account: The test set's after the step.
        ledger: The ledger's file.
    """

    step: Step
    passed: bool | None
    judgement: Judgement | None
    repeated: bool
    account: Account
    ledger: Path


class UsedUpError(CannotRunError):
    """The test set can't judge any more models.

    Args:
        ledger: Its ledger's file.
    """

    def __init__(self, message: str, ledger: Path):
        super().__init__(message)
        self.ledger = ledger


def take_step(
    file: CiFile, rows: HeldOut, joined: Joined, release: Release = "bit", commit: str | None = None
) -> Taken:
    """Judge a new model and record it.

    Predictions that the test set has judged before by the same condition get the verdict of then:
    a job that is started again, after a kill say, takes no further step.

    Raises:
        UsedUpError: If the test set is used up.
        CannotRunError: If it is smaller than the plan needs, it has rows of another test set, or
            the ledger was tampered with.
        InputError: If the ledger was begun with other terms.
    """
    path = ledger_path(file, rows)
    if not read(path):
        # Before the lock: it reads other ledgers, whose holders may be waiting for this one.
        check_fresh(file, path, rows)
    with locked(path) as ledger:
        account = Account.of(ledger.records)
        if account.opened:
            check_terms(file, account)
            check_rows_of(rows, account)
        inputs = _inputs(file, joined)
        step = account.step_of(inputs)
        judgement: Judgement | None
        if step is None:
            judgement = _new_step(ledger, file, rows, joined, release, inputs, commit)
        else:
            judgement = _repeated(ledger, file, rows, joined, release, step)
        after = Account.of(ledger.records)
    taken = after.step_of(inputs)
    assert taken is not None
    return Taken(taken, taken.passed, judgement, step is not None, after, path)


def _inputs(file: CiFile, joined: Joined) -> str:
    """What tells this question from others that were asked of the test set."""
    asked = file.guarantee
    parts = [joined.digest, asked.condition.text, asked.mode]
    if any(clause.metrics for clause in asked.condition.clauses):
        parts.append(repr(asked.facts))
    return digest("step", parts)


def _new_step(
    ledger: Ledger,
    file: CiFile,
    rows: HeldOut,
    joined: Joined,
    release: Release,
    inputs: str,
    commit: str | None,
) -> Judgement:
    account = Account.of(ledger.records)
    if account.opened and account.ended:
        raise UsedUpError(f"no verdict: {used_up(account)}", ledger.path)
    ranked = RANK in file.guarantee.condition.variables
    if ranked:
        joined = with_earlier(ledger.path, account.steps, rows, joined)
    plan, judgement = _judgement(file, account.revealed, rows, joined)
    if ranked:
        keep(ledger.path, inputs, rows, joined)
    if not account.opened:
        keep_ids(ledger.path, rows)
        open_account(ledger, file, rows)
    told = file.guarantee.reuse.kind != "none"
    number = account.used + 1
    sealed = None
    if not told and file.public_key is not None:
        sealed = sealed_result(file.public_key, file, judgement, number, commit)
    ledger.append(
        lines.STEP,
        inputs=inputs,
        new=joined.models[0],
        old=joined.models[1] if len(joined.models) > 1 else None,
        condition=plan.guarantee.condition.text,
        mode=plan.guarantee.mode,
        bound=plan.bound,
        needed=plan.labels,
        passed=judgement.passed if told else None,
        sealed=sealed,
        release=release,
        cost=release_cost(plan.guarantee, release, judgement.passed, joined.largest),
        commit=commit,
    )
    return judgement


def _repeated(
    ledger: Ledger, file: CiFile, rows: HeldOut, joined: Joined, release: Release, step: Step
) -> Judgement | None:
    """What led to a recorded verdict, judged again where anyone may see it."""
    told = step.passed is not None
    if step.sealed is not None or (told and release == "bit"):
        return None
    before = Account.of(ledger.records[: step.record])
    if RANK in file.guarantee.condition.variables:
        joined = with_earlier(ledger.path, before.steps, rows, joined)
    plan, judgement = _judgement(file, before.revealed, rows, joined)
    if told and step.passed is not judgement.passed:
        raise CannotRunError(
            "what led to the recorded verdict can't be told any more: the labels or the file "
            "have changed since; leave out --reveal"
        )
    if more(release, step.release):
        guarantee, passed = plan.guarantee, judgement.passed
        cost = release_cost(guarantee, release, passed, joined.largest, afterwards=True)
        ledger.append(lines.REVEALED, inputs=step.inputs, release=release, cost=cost)
    return judgement


class NeedLabelsError(CannotRunError):
    """A sequential test isn't over yet.

    Args:
        ids: Of the rows to label next.
    """

    def __init__(self, message: str, ids: tuple[str, ...]):
        super().__init__(message)
        self.ids = ids


def _judgement(
    file: CiFile, revealed: float, rows: HeldOut, joined: Joined
) -> tuple[Plan, Judgement]:
    if file.method == "fixed":
        plan = plan_for(file, revealed, joined)
        return plan, _judged(plan, joined)
    reuse = replace(file.guarantee.reuse, revealed=revealed)
    sequential = make_sequential_plan(replace(file.guarantee, reuse=reuse), file.bound)
    try:
        found = judge_sequentially(sequential, joined.tested, joined.pool)
    except InputError as error:
        raise CannotRunError(f"no verdict: {error.message}") from None
    if found.truth is None or found.passed is None:
        ids = tuple(rows.ids[i] for i in to_label(sequential, joined.tested, found.wanted))
        raise NeedLabelsError(
            f"no verdict yet: label {len(ids):,} more rows, {', '.join(map(repr, ids[:3]))} the "
            "first of them (--to-label writes their ids)",
            ids,
        )
    return sequential.fixed, Judgement(found.truth, found.passed, found.clauses)


def plan_for(file: CiFile, revealed: float, joined: Joined) -> Plan:
    """The plan of the next step, which the test set is large enough for.

    Where it isn't, and the pool is large enough to measure first how much the models differ, the
    plan is the one for what was measured (pattern 2).

    Args:
        revealed: What releases beyond one bit have added to ln M.

    Raises:
        CannotRunError: With how many rows there are and how many it takes.
    """
    reuse = replace(file.guarantee.reuse, revealed=revealed)
    guarantee = replace(file.guarantee, reuse=reuse)
    pool = joined.pool
    plan = make_plan(guarantee, file.bound)
    try:
        _check_size(plan, joined)
    except CannotRunError:
        if pool is None or pool.old is None or not can_measure(guarantee, file.bound, len(pool)):
            raise
        measured = upper_difference(guarantee, pool)
        plan = make_plan(guarantee, file.bound, measured=measured)
        _check_size(plan, joined)
    return plan


def can_measure(guarantee: Guarantee, bound: str, pool: int) -> bool:
    """Whether a pool of so many rows can tell first how much two models differ (pattern 2)."""
    first = measurement(guarantee) if bound in ("auto", "bennett") else None
    return first is not None and pool >= first.rows


def _check_size(plan: Plan, joined: Joined) -> None:
    check_rows(plan, len(joined.tested), None if joined.pool is None else len(joined.pool))


def _judged(plan: Plan, joined: Joined) -> Judgement:
    try:
        return judge(plan, joined.tested, joined.pool)
    except InputError as error:
        # The files are right as they are, and say too little: rows to be labelled yet.
        raise CannotRunError(f"no verdict: {error.message}") from None
