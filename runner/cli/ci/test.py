"""``runner ci test``: the verdict on a new model, and no more than the promise counts on."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from runner.cli.ci import handed_in, options
from runner.errors import CannotRunError, InputError, RunnerError

if TYPE_CHECKING:
    from runner.ci import CiFile
    from runner.ci.release import Release
    from runner.ci.reports import Report
    from runner.ci.step import Taken


@dataclass(frozen=True)
class _Outputs:
    """Where a report goes besides the standard output."""

    as_json: bool
    junit: Path | None
    summary: Path | None

    def check(self) -> None:
        """Refuse a place that can't be written to before a step is taken for it."""
        for path in (self.junit, self.summary):
            if path is not None and (path.is_dir() or not os.access(path.parent, os.W_OK)):
                raise InputError("can't be written: no such folder, or not ours", file=path)


@click.command("test")
@options.FILE
@click.option(
    "--old", type=click.Path(path_type=Path), help="The old model's predictions (csv or parquet)."
)
@click.option(
    "--new",
    type=click.Path(path_type=Path),
    help="The new model's.  [default: `script` writes both]",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    help="Judge models of this study by its stored test predictions: --old and --new are then "
    "SYSTEM or SYSTEM:CONFIGURATION.",
)
@click.option("--task", help="Which of the study's tasks.  [default: the only one]")
@options.LABELS
@options.LEDGER
@options.KEY
@click.option(
    "--reveal",
    type=click.Choice(["outcome", "scores"]),
    is_flag=False,
    flag_value="outcome",
    help="Show more than one bit: true, false or unknown, or each clause's estimate too. "
    "All later steps then need more labels.",
)
@click.option(
    "--to-label",
    type=click.Path(path_type=Path),
    help="With method sequential: write the ids of the rows to label next to this file (csv).",
)
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML to this file.")
@click.option("--summary", type=click.Path(path_type=Path), help="Add Markdown to this file.")
@options.JSON
def command(
    file: Path,
    old: Path | None,
    new: Path | None,
    results: Path | None,
    task: str | None,
    labels: Path | None,
    ledger: Path | None,
    key: Path | None,
    reveal: str | None,
    to_label: Path | None,
    junit: Path | None,
    summary: Path | None,
    as_json: bool,
) -> None:
    """Judge a new model by the condition in FILE: exit 0 for a pass, 1 for a fail, 3 for neither.

    Predictions have the columns `id` and `prediction`, the labels `id` and `label`. With adaptivity
    none the exit is always 0 and the result is sent away.

    Example: runner ci test .travis.yml --old old.csv --new new.csv
    """
    from runner.ci.delivery import check_destination

    if old is not None and new is None:
        raise click.UsageError("--old needs --new beside it")
    found = options.load(file, labels, ledger)
    check_destination(found)
    outputs = _Outputs(as_json, junit, summary)
    outputs.check()
    release = _release(found, reveal)
    with (
        _told_when_refused(found, outputs),
        _rows_to_label_written(to_label),
        handed_in.stored(found, results, task, old, new) as (old_file, new_file),
    ):
        taken = _take(found, key, old_file, new_file, release)
    _tell(found, taken, release, outputs)
    _send(found, taken)
    raise click.exceptions.Exit(1 if taken.passed is False else 0)


def _release(file: CiFile, reveal: str | None) -> Release:
    if reveal is not None and file.guarantee.reuse.kind == "none":
        raise InputError(
            "with adaptivity none the developer is told nothing, so --reveal can't be; "
            "use adaptivity full",
            file=file.path,
            line=file.line("adaptivity"),
        )
    return cast("Release", reveal or "bit")


def _take(
    file: CiFile, key: Path | None, old: Path | None, new: Path | None, release: Release
) -> Taken:
    from runner.ci.environment import current_commit
    from runner.ci.held_out import open_held_out
    from runner.ci.ledgers import ledger_folder
    from runner.ci.predictions import held_out_by_name, join
    from runner.ci.scores import speaks_of_classes, with_scores
    from runner.ci.sealing import private_key
    from runner.ci.step import UsedUpError, take_step

    _warn_of_folder(ledger_folder(file))
    rows = open_held_out(file, private_key(key))
    with handed_in.predictions(file, key, old, new, rows) as (new_found, old_found):
        rows = rows or held_out_by_name(new_found, _name(file))
        classes = speaks_of_classes(file.guarantee)
        joined = join(rows, new_found, old_found, file.guarantee.facts.positive, classes)
        before = None if old_found is None else old_found.path
        joined = with_scores(joined, rows, file.guarantee, new_found.path, before)
        try:
            return take_step(file, rows, joined, release, current_commit(file.path.parent))
        except UsedUpError as error:
            _alarm(file, error.ledger)
            raise


def _warn_of_folder(folder: Path) -> None:
    from runner.ci.access import written_by_others

    if written_by_others(folder):
        click.echo(
            f"warning: {folder}: others than its owner can write to the ledgers' folder, and so "
            f"make up accounts: chmod go-w {folder}",
            err=True,
        )


def _name(file: CiFile) -> str:
    from runner.ci.ledgers import UNNAMED

    return UNNAMED if file.testset is None else file.testset.name


@contextmanager
def _rows_to_label_written(path: Path | None) -> Iterator[None]:
    from runner.ci.step import NeedLabelsError

    try:
        yield
    except NeedLabelsError as error:
        if path is not None:
            from runner.ci.columns import write_ids

            write_ids(path, error.ids)
        raise


@contextmanager
def _told_when_refused(file: CiFile, outputs: _Outputs) -> Iterator[None]:
    """Have no verdict shown as such where reports are wanted."""
    from runner.ci.reports import Report

    try:
        yield
    except CannotRunError as error:
        report = Report(file.guarantee.condition.text, "none", details=(str(error),))
        _write(report, outputs)
        if outputs.as_json:
            _print(json.dumps({"verdict": None, "reason": str(error)}))
        raise


def _tell(file: CiFile, taken: Taken, release: Release, outputs: _Outputs) -> None:
    from runner.ci.reports import Report
    from runner.ci.result import verdict_word

    verdict = "recorded" if taken.passed is None else verdict_word(taken.passed)
    revealed = _revealed(taken, release)
    report = Report(
        file.guarantee.condition.text, verdict, _state(taken), tuple(_details(taken, revealed))
    )
    if outputs.as_json:
        _print(json.dumps(_document(file, taken, verdict, revealed)))
    else:
        lines = (f"{verdict}: {report.condition}", *report.details, report.account)
        _print("\n  ".join(lines))
    _write(report, outputs)


def _print(text: str) -> None:
    """Print what was recorded; a reader who has gone or a full disk doesn't change the status."""
    try:
        click.echo(text)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            click.echo(f"warning: the verdict can't be written: {error.strerror}", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write(report: Report, outputs: _Outputs) -> None:
    from runner.ci.reports import append_summary, write_junit

    for path, write in ((outputs.junit, write_junit), (outputs.summary, append_summary)):
        try:
            if path is not None:
                write(path, report)
        except InputError as error:
            # The verdict is recorded, and its exit status with it.
            click.echo(f"warning: {error}", err=True)


def _state(taken: Taken) -> str:
    account = taken.account
    state = f"step {taken.step.number:,} of {account.terms.steps:,}, {account.left:,} left"
    if taken.repeated:
        state += "; these predictions were judged before, so no further step is counted"
    return f"{state} (test set {account.name})"


def _revealed(taken: Taken, release: Release) -> dict[str, Any]:
    """What is told beyond the verdict."""
    from runner.ci.result import clause_document

    judgement = taken.judgement
    if release == "bit" or judgement is None:
        return {}
    revealed: dict[str, Any] = {"truth": judgement.truth.value}
    if release == "scores":
        revealed["clauses"] = [clause_document(clause) for clause in judgement.clauses]
    return revealed


def _details(taken: Taken, revealed: dict[str, Any]) -> Iterator[str]:
    if taken.account.changes_old(taken.step):
        yield "the old model is neither that of the step before nor one that passed here"
    if not revealed:
        return
    yield f"revealed: the condition is {revealed['truth']}"
    for clause in revealed.get("clauses", ()):
        yield f"{clause['clause']}: {clause['truth']}, estimated as {clause['estimate']:.6g}"
    yield (
        "what was revealed beyond one bit counts: ln M of the steps left grew by "
        f"{taken.account.revealed:.4g}"
    )


def _document(file: CiFile, taken: Taken, verdict: str, revealed: dict[str, Any]) -> dict[str, Any]:
    account = taken.account
    return {
        "verdict": None if taken.passed is None else verdict,
        "condition": file.guarantee.condition.text,
        "mode": file.guarantee.mode,
        "adaptivity": file.guarantee.reuse.kind,
        "testset": account.name,
        "step": taken.step.number,
        "steps": account.terms.steps,
        "used": account.used,
        "left": account.left,
        "used_up": account.ended,
        "repeated": taken.repeated,
        "old_changed": account.changes_old(taken.step),
        "sent_to": file.recipient,
        "revealed": revealed or None,
    }


def _send(file: CiFile, taken: Taken) -> None:
    """Send what is to be sent; the verdict is shown by then."""
    from runner.ci.delivery import deliver
    from runner.ci.environment import current_commit

    try:
        deliver(file, taken, current_commit(file.path.parent))
    finally:
        # A test set is used up whether or not its last result could be sent.
        _alarm(file, taken.ledger)


def _alarm(file: CiFile, ledger: Path) -> None:
    """Raise the alarm where the test set is used up; a verdict stands even if that fails."""
    from runner.ci.account import Account
    from runner.ci.alarm import raise_alarm
    from runner.ci.ledger import read
    from runner.ci.ledgers import used_up

    account = Account.of(read(ledger))
    if not account.opened or account.ended is None:
        return
    click.echo(f"alarm: {used_up(account)}", err=True)
    try:
        raise_alarm(file, ledger)
    except RunnerError as error:
        click.echo(f"warning: {error}", err=True)
