"""``runner sweep``: run or resume a sweep."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.folder import Folder
from runner.cli.main import INTERRUPTED, resume_hint

if TYPE_CHECKING:
    from runner.config import SweepStudy
    from runner.sweep import Options, Outlook, SweepSummary


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


@click.command("sweep")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--results", type=Folder(), help="Where results go.  [default: results/NAME]")
@click.option(
    "--address",
    default="local",
    show_default=True,
    help="The Ray cluster: local, auto or host:port.",
)
@click.option("--plan", "only_plan", is_flag=True, help="Say what would be computed, and stop.")
@click.option(
    "--rerun",
    type=_Outcomes(),
    default=_Outcomes.NONE,
    help="Compute rows of these outcomes again, such as timeout,crash.",
)
@click.option(
    "--fail-on",
    type=_Outcomes(),
    default=_Outcomes.NONE,
    help="End with exit status 1 where there are rows of these outcomes.",
)
@click.option(
    "--fit-sandbox", is_flag=True, help="Shrink a sandbox that no node can hold; rows say so."
)
@click.option("--accept-versions", is_flag=True, help="Keep rows that other library versions made.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(
    config: Path,
    results: Path | None,
    address: str,
    only_plan: bool,
    rerun: frozenset[str],
    fail_on: frozenset[str],
    fit_sandbox: bool,
    accept_versions: bool,
    as_json: bool,
) -> int:
    """Run the study in CONFIG, or resume it: what its results hold already isn't computed again.

    Example: runner sweep configs/quickstart.yaml
    """
    from runner.cli.progress import StudyProgress
    from runner.config import load_study
    from runner.store import OUTCOMES
    from runner.sweep import Options, Sweep

    typed = shlex.join(["runner", *sys.argv[1:]])
    study = load_study(config)
    folder = results or Path("results") / study.name
    options = Options(
        results=folder,
        command=typed,
        address=address,
        rerun=rerun,
        fit_sandbox=fit_sandbox,
        accept_versions=accept_versions,
    )
    if only_plan:
        _print_plan(study, options, as_json)
        return 0
    sweep = Sweep(study, options)
    with StudyProgress(sweep.best) as progress:
        for note in sweep.notes():
            progress.message(note)
        progress.message(_beginning(sweep.outlook()))
        try:
            summary = sweep.run(progress)
        except Exception:
            # A full disk, a Ray that died: what is committed serves the next start.
            progress.message(resume_hint(sys.argv[1:]))
            raise
    if as_json:
        click.echo(json.dumps(_document(summary)))
    if summary.interrupted:
        done = sum(summary.outcomes.values())
        click.echo(f"interrupted: {done} of {summary.planned} evaluations are done", err=True)
        click.echo(resume_hint(sys.argv[1:]), err=True)
        return INTERRUPTED
    if not as_json:
        _print_summary(summary, folder)
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


def _document(summary: SweepSummary) -> dict[str, Any]:
    return {
        "planned": summary.planned,
        "reused": summary.reused,
        "computed": summary.computed,
        "outcomes": dict(summary.outcomes),
    }


def _print_summary(summary: SweepSummary, folder: Path) -> None:
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
    for task, system in summary.unselected:
        click.echo(f"{system} on {task}: no configuration has all folds ok, so none is selected")
    click.echo(f"results: {folder}; to see them: runner report --results {folder}")


def _print_plan(study: SweepStudy, options: Options, as_json: bool) -> None:
    from runner.sweep import Sweep

    with tempfile.TemporaryDirectory() as empty:
        if _is_fresh(options.results):
            # A plan leaves nothing behind, not even a folder.
            options = dataclasses.replace(options, results=Path(empty))
        sweep = Sweep(study, options)
    outlook = sweep.outlook()
    for note in sweep.notes():
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
