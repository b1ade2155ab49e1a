"""``runner data fetch``: OpenML's tasks into the cache, ahead of a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.failures import raise_failures
from runner.cli.main import INTERRUPTED, resume_hint
from runner.cli.openml import at_once_option, per_second_option, suites_option, tasks_option
from runner.errors import InputError

if TYPE_CHECKING:
    from runner.cli.progress import StudyProgress
    from runner.openml import Archive


@click.command("fetch")
@click.argument("study", required=False, type=click.Path(path_type=Path))
@tasks_option
@suites_option
@per_second_option
@at_once_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def fetch(
    study: Path | None,
    tasks: tuple[int, ...],
    suites: tuple[str, ...],
    per_second: float,
    at_once: int,
    as_json: bool,
) -> int:
    """Fetch OpenML's tasks that a study in a file names, or others, so that runs need no network.

    They go into the openml package's cache; what is there already isn't asked for again.

    Example: runner data fetch study.yaml; runner data fetch --openml-suite 99
    """
    from runner.cli.progress import StudyProgress
    from runner.openml import Archive, Pace

    if study is None and not tasks and not suites:
        raise InputError("name what to fetch: a study's file, --openml-task or --openml-suite")
    archive = Archive.configured(Pace(per_second=per_second, at_once=at_once))
    numbers = _numbers(study, tasks, suites, archive)
    missing = [number for number in numbers if not archive.has_task(number)]
    failed: list[InputError] = []
    with StudyProgress(things="tasks") as progress:
        try:
            failed = _fetch(archive, missing, at_once, progress)
        except KeyboardInterrupt:
            progress.message(resume_hint(sys.argv[1:]))
            return INTERRUPTED
    if as_json:
        document = {
            "cache": str(archive.folder),
            "tasks": numbers,
            "fetched": len(missing) - len(failed),
            "failed": [str(error) for error in failed],
        }
        click.echo(json.dumps(document))
    elif not numbers:
        click.echo(f"{study} has no task of OpenML's: there is nothing to fetch")
    else:
        have = len(numbers) - len(missing)
        done = len(missing) - len(failed)
        click.echo(f"{done} of {len(numbers)} tasks fetched, {have} were there: {archive.folder}")
    raise_failures(failed)
    return 0


def _numbers(
    study: Path | None, tasks: Sequence[int], suites: Sequence[str], archive: Archive
) -> list[int]:
    from runner.config import load_study
    from runner.data import OpenmlSource

    found = dict.fromkeys(tasks)
    if study is not None:
        sources = [entry.source for entry in load_study(study).tasks]
        found |= dict.fromkeys(one.number for one in sources if isinstance(one, OpenmlSource))
    for suite in suites:
        found |= dict.fromkeys(archive.suite(suite))
    return list(found)


def _fetch(
    archive: Archive, numbers: Sequence[int], at_once: int, progress: StudyProgress
) -> list[InputError]:
    """Fetch tasks, and give what went wrong."""
    failed = []
    pool = ThreadPoolExecutor(at_once)
    try:
        pending = {pool.submit(archive.task, number): number for number in numbers}
        for done, future in enumerate(as_completed(pending), 1):
            try:
                name = future.result().dataset.name
                progress.message(f"task {pending[future]}: {name}")
            except InputError as error:
                failed.append(error)
            progress.progress(done, len(numbers), None)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return failed
