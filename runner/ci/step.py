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
from runner.ci.ledger import Ledger, Record, locked, read
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
    a job that is started again, after a kill say, takes no further step. A sequential test counts
    from the first call on, before it has a verdict: else any number of models could be tried on the
    labels there are, and dropped for the next.

    Raises:
        UsedUpError: If the test set is used up.
        NeedLabelsError: If a sequential test isn't over; its step is begun.
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
        repeated = step is not None and step.finished
        if step is None or not step.finished:
            judgement = _new_step(ledger, file, rows, joined, release, inputs, commit)
        else:
            judgement = _repeated(ledger, file, rows, joined, release, step)
        after = Account.of(ledger.records)
    taken = after.step_of(inputs)
    assert taken is not None
    return Taken(taken, taken.passed, judgement, repeated, after, path)


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
    begun = account.step_of(inputs)
    if account.opened and (account.ended if begun is None else account.closed):
        raise UsedUpError(f"no verdict: {used_up(account)}", ledger.path)
    in_force = account.in_force(file.method) if account.opened else 0.0
    earlier = account.steps
    if begun is not None:
        in_force, earlier = begun.in_force, account.steps[: begun.number - 1]
    ranked = RANK in file.guarantee.condition.variables
    if ranked:
        joined = with_earlier(ledger.path, earlier, rows, joined)
    found = _looked_at(file, in_force, rows, joined)
    plan, judgement = found.plan, found.judgement
    if begun is not None:
        _check_same_test(file, plan, ledger.records[begun.record])
    if ranked:
        keep(ledger.path, inputs, rows, joined)
    if not account.opened:
        keep_ids(ledger.path, rows)
        open_account(ledger, file, rows)
    told = file.guarantee.reuse.kind != "none"
    number = account.used + 1 if begun is None else begun.number
    asked = {
        "inputs": inputs,
        "method": file.method,
        "new": joined.models[0],
        "old": joined.models[1] if len(joined.models) > 1 else None,
        "condition": plan.guarantee.condition.text,
        "mode": plan.guarantee.mode,
        "bound": plan.bound,
        "needed": plan.labels,
        "commit": commit,
    }
    if judgement is None:
        if begun is None:
            # Before anyone is told that it isn't over: that depends on the labels there are.
            ledger.append(lines.BEGUN, **asked)
        raise _need_labels(found.wanted, number, file.guarantee.reuse.steps)
    sealed = None
    if not told and file.public_key is not None:
        sealed = sealed_result(file.public_key, file, judgement, number, commit)
    guarantee, passed = plan.guarantee, judgement.passed
    ledger.append(
        lines.STEP,
        **asked,
        passed=passed if told else None,
        sealed=sealed,
        release=release,
        cost=release_cost(guarantee, release, passed, joined.largest, looks=found.looks),
    )
    return judgement


def _check_same_test(file: CiFile, plan: Plan, begun: Record) -> None:
    """Refuse to go on with a test by another plan than it was begun with."""
    then = (begun.fields["method"], begun.fields["bound"], begun.fields["needed"])
    now = (file.method, plan.bound, plan.labels)
    if then != now:
        was, asked = (f"method {a}, bound {b} and {c:,} labels" for a, b, c in (then, now))
        raise InputError(
            f"this test was begun with {was} and the file now makes it {asked}; "
            "put the file back as it was",
            file=file.path,
            line=file.line("method"),
        )


def _repeated(
    ledger: Ledger, file: CiFile, rows: HeldOut, joined: Joined, release: Release, step: Step
) -> Judgement | None:
    """What led to a recorded verdict, judged again where anyone may see it."""
    told = step.passed is not None
    if step.sealed is not None or (told and release == "bit"):
        return None
    if RANK in file.guarantee.condition.variables:
        earlier = Account.of(ledger.records).steps[: step.number - 1]
        joined = with_earlier(ledger.path, earlier, rows, joined)
    found = _looked_at(file, step.in_force, rows, joined)
    judgement = found.judgement
    if judgement is None or (told and step.passed is not judgement.passed):
        raise CannotRunError(
            "what led to the recorded verdict can't be told any more: the labels or the file "
            "have changed since; leave out --reveal"
        )
    if more(release, step.release):
        guarantee, passed = found.plan.guarantee, judgement.passed
        cost = release_cost(
            guarantee, release, passed, joined.largest, afterwards=True, looks=found.looks
        )
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


def _need_labels(ids: tuple[str, ...], number: int, steps: int) -> NeedLabelsError:
    return NeedLabelsError(
        f"no verdict yet: label {len(ids):,} more rows, {', '.join(map(repr, ids[:3]))} the "
        f"first of them (--to-label writes their ids); step {number:,} of {steps:,} is begun "
        "and counts",
        ids,
    )


@dataclass(frozen=True)
class _LookedAt:
    """What the labels there are say.

    Attributes:
        judgement: None where more labels are needed.
        looks: At how many numbers of rows the test may have ended.
        wanted: Ids of the rows to label next.
    """

    plan: Plan
    judgement: Judgement | None
    looks: int = 1
    wanted: tuple[str, ...] = ()


def _looked_at(file: CiFile, in_force: float, rows: HeldOut, joined: Joined) -> _LookedAt:
    if file.method == "fixed":
        plan = plan_for(file, in_force, joined)
        return _LookedAt(plan, _judged(plan, joined))
    reuse = replace(file.guarantee.reuse, revealed=in_force)
    sequential = make_sequential_plan(replace(file.guarantee, reuse=reuse), file.bound)
    try:
        found = judge_sequentially(sequential, joined.tested, joined.pool)
    except InputError as error:
        raise CannotRunError(f"no verdict: {error.message}") from None
    looks = -(-len(joined.tested) // sequential.batch)
    if found.truth is None or found.passed is None:
        ids = tuple(rows.ids[i] for i in to_label(sequential, joined.tested, found.wanted))
        return _LookedAt(sequential.fixed, None, looks, ids)
    judgement = Judgement(found.truth, found.passed, found.clauses)
    return _LookedAt(sequential.fixed, judgement, looks)


def plan_for(file: CiFile, revealed: float, joined: Joined) -> Plan:
    """The plan of the next step, which the test set is large enough for.

    Where it isn't, and the pool is large enough to measure first how much the models differ, the
    plan is the one for what was measured (pattern 2).

    Args:
        revealed: What histories beyond one bit a step add to ln M.

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
