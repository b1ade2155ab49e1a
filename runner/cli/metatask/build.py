"""``runner metatask build``: metatasks from OpenML or from a sweep."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.failures import raise_failures
from runner.cli.folder import Folder
from runner.cli.main import INTERRUPTED, resume_hint
from runner.cli.openml import at_once_option, per_second_option, suites_option, tasks_option
from runner.errors import InputError

if TYPE_CHECKING:
    from runner.cli.progress import StudyProgress
    from runner.metatask.openml_build import Built, Failed, Wish
    from runner.metatask.openml_journal import Journal
    from runner.metatask.openml_selection import Selection
    from runner.metatask.specification import Specification

METRIC = "area_under_roc_curve"
_METRIC = re.compile(r"\w+")


@click.command("build")
@tasks_option
@suites_option
@click.option(
    "--from-specification",
    "specification",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Build again what an earlier build, or Assembled-OpenML, wrote down.",
)
@click.option("--from-results", "results", type=Folder(), metavar="DIR", help="A sweep's results.")
@click.option(
    "--task",
    "names",
    multiple=True,
    metavar="NAME",
    help="With --from-results: a task, again for the next one.  [default: all]",
)
@click.option(
    "--run",
    "run_id",
    metavar="RUN_ID|STUDY",
    help="With --from-results: that run.  [default: the latest of a sweep]",
)
@click.option(
    "--study",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --from-results: the study's file, where it was moved.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Take the best so many configurations.",
)
@click.option(
    "--metric",
    default=METRIC,
    show_default=True,
    help="By this measure, as OpenML calls it.",
)
@click.option("--minimize", is_flag=True, help="Lower is better by this measure.")
@click.option("--per-flow", is_flag=True, help="Take only the best configuration of each flow.")
@click.option(
    "--output",
    type=Folder(),
    default="metatasks",
    show_default=True,
    help="The folder to write into.",
)
@click.option(
    "--address",
    default="local",
    show_default=True,
    help="The Ray cluster that reads the files: local, auto or host:port.",
)
@per_second_option
@at_once_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(
    tasks: tuple[int, ...],
    suites: tuple[str, ...],
    specification: Path | None,
    results: Path | None,
    names: tuple[str, ...],
    run_id: str | None,
    study: Path | None,
    top: int,
    metric: str,
    minimize: bool,
    per_flow: bool,
    output: Path,
    address: str,
    per_second: float,
    at_once: int,
    as_json: bool,
) -> int:
    """Build metatasks: tasks with the predictions that OpenML stores of others' models.

    What is in the folder or in the cache isn't asked for again: the same command resumes.

    With --from-results, tasks with the predictions of a sweep's best configurations, whose study
    says `predictions: true`, and `refit: N` for more models than the best of each system.

    Example: runner metatask build --openml-task 31 --top 50 --output metatasks

    Example: runner metatask build --from-results results/credit --top 50 --output metatasks
    """
    if results is not None:
        if tasks or suites or specification:
            raise InputError("--from-results goes without OpenML's tasks; leave them out")
        if metric != METRIC or minimize or per_flow:
            raise InputError(
                "--metric, --minimize and --per-flow are for OpenML's runs: a sweep's "
                "configurations are ranked by their AUC"
            )
        from runner.cli.metatask.sweep import build_from_results

        return build_from_results(results, names, run_id, study, top, output, as_json)
    if names or run_id is not None or study is not None:
        raise InputError("--task, --run and --study are for --from-results; name the results")
    from runner.cli.progress import StudyProgress
    from runner.metatask.openml_journal import Journal
    from runner.metatask.openml_selection import Selection
    from runner.metatask.specification import read_specification
    from runner.openml import Archive, Pace

    if not _METRIC.fullmatch(metric):
        raise InputError(f"{metric!r} is no measure's name; give one such as predictive_accuracy")
    if bool(specification) == bool(tasks or suites):
        raise InputError(
            "name what to build: either --openml-task and --openml-suite, or --from-specification, "
            "or --from-results"
        )
    selection = Selection(metric, not minimize, top, per_flow)
    given = None
    if specification is not None:
        given = read_specification(specification)
        selection = Selection(given.metric, given.maximize, top, per_flow)
    archive = Archive.configured(Pace(per_second=per_second, at_once=at_once))
    journal = Journal(output, archive)
    with StudyProgress(things="runs") as progress:
        wishes = _wishes(tasks, suites, given, journal)
        progress.message(f"{len(wishes)} metatask{'' if len(wishes) == 1 else 's'} to build")
        outcomes: list[Built | Failed] = []
        try:
            _build(journal, selection, output, address, at_once, wishes, progress, outcomes)
        except KeyboardInterrupt:
            progress.message(f"interrupted: {len(outcomes)} of {len(wishes)} are done")
            progress.message(resume_hint(sys.argv[1:]))
            return INTERRUPTED
    return _tell(outcomes, wishes, selection, output, as_json)


class _Watching:
    """Shows how many of the runs that are wanted have been read."""

    def __init__(self, progress: StudyProgress):
        self._progress = progress
        self._wanted = 0
        self._ready = 0

    def expect(self, runs: int) -> None:
        self._wanted += runs
        self._progress.progress(self._ready, self._wanted, None)

    def ready(self) -> None:
        self._ready += 1
        self._progress.progress(self._ready, self._wanted, None)

    def message(self, text: str) -> None:
        self._progress.message(text)


def _wishes(
    tasks: Sequence[int],
    suites: Sequence[str],
    specification: Specification | None,
    journal: Journal,
) -> list[Wish]:
    from runner.metatask.openml_build import Wish

    if specification is not None:
        return [Wish(task, runs) for task, runs in specification.tasks.items()]
    wanted = dict.fromkeys(tasks)
    for suite in suites:
        wanted |= dict.fromkeys(journal.suite(suite))
    return [Wish(task) for task in wanted]


def _build(
    journal: Journal,
    selection: Selection,
    output: Path,
    address: str,
    at_once: int,
    wishes: Sequence[Wish],
    progress: StudyProgress,
    outcomes: list[Built | Failed],
) -> None:
    from runner.engine import calling
    from runner.metatask.openml_build import Builder, Built, known

    found = {wish.task: known(wish, selection, output) for wish in wishes}
    outcomes += [built for built in found.values() if built is not None]
    missing = [wish for wish in wishes if found[wish.task] is None]
    if not missing:
        return
    with calling(address) as callers:
        watching = _Watching(progress)
        builder = Builder(journal, selection, output, callers, watching, at_once)
        for outcome in builder.build(missing):
            outcomes.append(outcome)
            if isinstance(outcome, Built):
                progress.message(_line(outcome))


def _tell(
    outcomes: Sequence[Built | Failed],
    wishes: Sequence[Wish],
    selection: Selection,
    output: Path,
    as_json: bool,
) -> int:
    from runner.metatask.openml_build import Built, Failed
    from runner.metatask.specification import Specification, write_specification

    order = [wish.task for wish in wishes]
    built = sorted((o for o in outcomes if isinstance(o, Built)), key=lambda o: order.index(o.task))
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    path = output / "specification.json"
    if built:
        constraints = {"nr_base_models": selection.top, "per_flow": selection.per_flow}
        write_specification(
            Specification(
                {one.task: one.models for one in built},
                selection.metric,
                selection.maximize,
                constraints,
            ),
            path,
        )
    if as_json:
        click.echo(json.dumps(_document(built, failed, path)))
    else:
        for one in built:
            click.echo(_line(one))
        if built:
            click.echo(f"to build them again: --from-specification {path}")
    raise_failures([fault.error for fault in failed])
    return 0


def _line(built: Built) -> str:
    text = f"{built.path}: {len(built.models)} models"
    if built.dropped:
        text += f", {len(built.dropped)} runs left out"
    if built.findings:
        text += f", {built.findings} with findings ({built.corrupted} not repaired)"
    return text if built.fresh else f"{text}; it was there already"


def _document(built: Sequence[Built], failed: Sequence[Failed], path: Path) -> dict[str, Any]:
    return {
        "built": [
            {
                "task": one.task,
                "path": str(one.path),
                "models": [candidate.name for candidate in one.models],
                "dropped": dict(one.dropped),
                "findings": one.findings,
                "corrupted": one.corrupted,
                "reused": not one.fresh,
            }
            for one in built
        ],
        "failed": [{"task": one.task, "error": str(one.error)} for one in failed],
        "specification": str(path) if built else None,
    }
