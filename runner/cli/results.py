"""``runner results``: care of a store."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.folder import results_folder, results_option

if TYPE_CHECKING:
    from runner.store import Repaired

_FOLDER = results_option("The results' folder.")


@click.group("results")
def command() -> None:
    """Care of a store.

    Example: runner results check --results results/quickstart
    """


@command.command("compact")
@_FOLDER
def compact(results: Path | None) -> None:
    """Merge small files, and remove merged ones older than a day; safe beside a running study.

    Example: runner results compact --results results/quickstart
    """
    from runner.store import Store

    folder = results_folder(results)
    done = Store.open(folder).compact()
    click.echo(f"compacted {folder}" if done else f"{folder}: somebody else is compacting it")


@command.command("check")
@_FOLDER
@click.option(
    "--repair",
    is_flag=True,
    help="Move damaged files to damaged/ in the folder and keep all rows that can be read.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def check(results: Path | None, repair: bool, as_json: bool) -> int:
    """Look for damaged files and for rows that can't be right; exit status 1 where there are any.

    With --repair damaged files are moved, never deleted, and the study can be resumed: what was
    lost with them is computed again. Not while a study writes here.

    Example: runner results check --results results/quickstart
    """
    from runner.store import LOST, Store

    folder = results_folder(results)
    store = Store.inspect(folder)
    repaired = store.repair() if repair else []
    problems = store.check()
    if as_json:
        document: dict[str, Any] = {"problems": list(map(str, problems))}
        if repair:
            document["repaired"] = [dataclasses.asdict(table) for table in repaired]
        click.echo(json.dumps(document))
    else:
        for line in (*map(_repaired_line, repaired), *map(str, problems)):
            click.echo(line)
        if any(done.lost for done in repaired):
            click.echo("run the study again: it computes what was lost")
        if not repaired and not problems:
            click.echo(f"{folder}: nothing wrong")
    # What a repair couldn't save is told, and the study can go on.
    remaining = [problem for problem in problems if not (repaired and problem.text == LOST)]
    return int(bool(remaining))


def _repaired_line(done: Repaired) -> str:
    count = "" if done.exact else "at least " if done.lost else "as far as its log tells "
    lost = f"{count}{done.lost or 'no'} rows lost"
    files = [
        f"{len(files)} {what}"
        for files, what in ((done.aside, "set aside"), (done.missing, "missing"))
        if files
    ]
    places = ", ".join((*done.aside, *done.missing))
    return f"{done.table}: repaired, {lost}; damaged files: {', '.join(files)} ({places})"
