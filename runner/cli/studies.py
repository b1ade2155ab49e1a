"""What the commands that run a study share: their options, progress, plan and summary."""

from __future__ import annotations

import dataclasses
import functools
import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from runner.cli.folder import Folder
from runner.cli.main import INTERRUPTED, resume_hint

if TYPE_CHECKING:
    from runner.engine import Observer
    from runner.study import Options, Outlook, StudySummary


class Runnable(Protocol):
    """A study that is ready to be run."""

    def notes(self) -> Sequence[str]: ...

    def outlook(self) -> Outlook: ...

    def best(self) -> Mapping[tuple[str, str], float]: ...

    def run(self, observer: Observer) -> StudySummary: ...


@dataclass(frozen=True)
class Asked:
    """The options that all these commands have.

    Attributes:
        results: Where results go; None for results/NAME.
        only_plan: Say what would be computed, and stop.
        fail_on: Outcomes that make the exit status 1.
    """

    results: Path | None
    address: str
    only_plan: bool
    rerun: frozenset[str]
    fail_on: frozenset[str]
    fit_sandbox: bool
    accept_versions: bool
    as_json: bool

    def options(self, study: str) -> Options:
        """How the study of that name is to be run."""
        from runner.study import Options

        return Options(
            results=self.results or Path("results") / study,
            command=shlex.join(["runner", *sys.argv[1:]]),
            address=self.address,
            rerun=self.rerun,
            fit_sandbox=self.fit_sandbox,
            accept_versions=self.accept_versions,
        )


class _Outcomes(click.ParamType[frozenset[str]]):
    """Outcomes, separated by commas."""

    name = "outcomes"
    NONE = frozenset[str]()

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> frozenset[str]:
        from runner.store import OUTCOMES

        if isinstance(value, frozenset):
            return value
        names = frozenset(filter(None, str(value).replace(" ", "").split(",")))
        if not names:
            self.fail(f"name some of {','.join(OUTCOMES)}, or leave it out", param, ctx)
        for name in sorted(names - set(OUTCOMES)):
            self.fail(f"{name!r} is no outcome: give some of {','.join(OUTCOMES)}", param, ctx)
        return names


_OPTIONS = (
    click.option("--results", type=Folder(), help="Where results go.  [default: results/NAME]"),
    click.option(
        "--address",
        default="local",
        show_default=True,
        help="The Ray cluster: local, auto or host:port.",
    ),
    click.option("--plan", "only_plan", is_flag=True, help="Say what would be computed, and stop."),
    click.option(
        "--rerun",
        type=_Outcomes(),
        default=_Outcomes.NONE,
        help="Compute rows of these outcomes again, such as timeout,crash.",
    ),
    click.option(
        "--fail-on",
        type=_Outcomes(),
        default=_Outcomes.NONE,
        help="End with exit status 1 where there are rows of these outcomes.",
    ),
    click.option(
        "--fit-sandbox", is_flag=True, help="Shrink a sandbox that no node can hold; rows say so."
    ),
    click.option(
        "--accept-versions", is_flag=True, help="Keep rows that other library versions made."
    ),
    click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout."),
)


def study_options(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command the options of `Asked`, which it takes as ``asked``."""
    names = [one.name for one in dataclasses.fields(Asked)]

    @functools.wraps(command)
    def wrapped(**values: Any) -> int:
        asked = Asked(**{name: values.pop(name) for name in names})
        return command(asked=asked, **values)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def conduct(
    asked: Asked,
    options: Options,
    start: Callable[[Options], Runnable],
    remarks: Callable[[StudySummary], Sequence[str]] = lambda summary: (),
) -> int:
    """Run a study, or say what running it would do; the exit status.

    Args:
        asked: What the command line says.
        options: How the study is to be run.
        start: Makes it ready.
        remarks: Gives what its kind has to say of its end.
    """
    if asked.only_plan:
        _print_plan(options, start, asked.as_json)
        return 0
    from runner.cli.progress import StudyProgress

    study = start(options)
    with StudyProgress(study.best) as progress:
        for note in study.notes():
            progress.message(note)
        progress.message(_beginning(study.outlook()))
        try:
            summary = study.run(progress)
        except Exception:
            # A full disk, a Ray that died: what is committed serves the next start.
            progress.message(resume_hint(sys.argv[1:]))
            raise
    if asked.as_json:
        click.echo(json.dumps(_document(summary)))
    if summary.interrupted:
        done = sum(summary.outcomes.values())
        click.echo(f"interrupted: {done} of {summary.planned} evaluations are done", err=True)
        click.echo(resume_hint(sys.argv[1:]), err=True)
        return INTERRUPTED
    if not asked.as_json:
        _print_summary(summary, options.results, remarks(summary))
    return _judged(summary, asked.fail_on)


def _judged(summary: StudySummary, fail_on: frozenset[str]) -> int:
    from runner.store import OUTCOMES

    failed = [outcome for outcome in OUTCOMES if outcome in fail_on and outcome in summary.outcomes]
    if failed:
        counts = ", ".join(f"{summary.outcomes[outcome]} {outcome}" for outcome in failed)
        click.echo(f"failed: {counts} (--fail-on)", err=True)
    return int(bool(failed))


def _beginning(outlook: Outlook) -> str:
    if not outlook.jobs:
        return f"all {outlook.planned} evaluations are in the store"
    slots = "1 at a time" if outlook.slots == 1 else f"{outlook.slots} at a time"
    return (
        f"{outlook.planned - outlook.reused} of {outlook.planned} evaluations to compute, {slots}; "
        "starting Ray"
    )


def _document(summary: StudySummary) -> dict[str, Any]:
    return {
        "planned": summary.planned,
        "reused": summary.reused,
        "computed": summary.computed,
        "outcomes": dict(summary.outcomes),
    }


def _print_summary(summary: StudySummary, folder: Path, remarks: Sequence[str]) -> None:
    from runner.store import OUTCOMES

    outcomes = ", ".join(
        f"{summary.outcomes[outcome]} {outcome}"
        for outcome in OUTCOMES
        if summary.outcomes.get(outcome)
    )
    click.echo(
        f"{summary.planned} evaluations ({summary.reused} reused, {summary.computed} computed): "
        f"{outcomes}"
    )
    for remark in remarks:
        click.echo(remark)
    command = shlex.join(["runner", "report", "--results", str(folder)])
    click.echo(f"results: {folder}; to see them: {command}")


def _print_plan(options: Options, start: Callable[[Options], Runnable], as_json: bool) -> None:
    from runner.store import Store

    Store.check_place(options.results)
    with tempfile.TemporaryDirectory() as empty:
        if _is_fresh(options.results):
            # A plan leaves nothing behind, not even a folder.
            options = dataclasses.replace(options, results=Path(empty))
        study = start(options)
    outlook = study.outlook()
    for note in study.notes():
        click.echo(note, err=True)
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(outlook)))
        return
    click.echo(f"{outlook.planned} evaluations, {outlook.reused} of them in the store already")
    click.echo(f"{outlook.jobs} jobs to compute, {outlook.slots} at once")
    for system, seconds in outlook.slot_seconds.items():
        click.echo(f"  {system}: predicted {seconds:,.1f} s of a slot")
    total = sum(outlook.slot_seconds.values())
    click.echo(f"predicted wall time: {total / outlook.slots:,.0f} s, Ray's start-up aside")


def _is_fresh(folder: Path) -> bool:
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
