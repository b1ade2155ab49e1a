"""``runner results``: care of a store."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.folder import Folder, results_folder, results_option
from runner.errors import InputError

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


@command.command("merge")
@click.argument("stores", metavar="DIR...", type=Folder(), nargs=-1, required=True)
@results_option("The results to merge into; a new folder is made.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def merge(stores: tuple[Path, ...], results: Path | None, as_json: bool) -> None:
    """Take the results in DIR... into one store; those stay as they are.

    All attempts are kept, numbered by the time at which they started. Merging twice changes
    nothing; a merge that was killed is completed by the same command.

    Example: runner results merge laptop/results/credit --results results/credit
    """
    from runner.store import Merged, Store

    others = [Store.open(folder) for folder in stores]
    folder = results_folder(results)
    target = Store.create(folder)
    done = Merged(0, 0, 0, 0)
    for other in others:
        done += target.merge(other)
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(done)))
        return
    click.echo(
        f"{folder}: {done.attempts} attempts, {done.predictions} predictions and {done.runs} rows "
        f"of runs added; {done.renumbered} attempts renumbered"
    )


@command.command("export")
@_FOLDER
@click.option(
    "--table",
    type=click.Choice(["evaluations", "attempts", "predictions", "runs"]),
    default="evaluations",
    show_default=True,
)
@click.option(
    "--format",
    "style",
    type=click.Choice(["parquet", "csv"]),
    help="The file's format.  [default: by its name's ending]",
)
@click.option("--output", type=click.Path(path_type=Path), required=True, help="The file.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def export(
    results: Path | None, table: str, style: str | None, output: Path, as_json: bool
) -> None:
    """Write a table to a file of Parquet or CSV, which is replaced if it is there.

    In CSV an empty field is a null and lists are JSON. docs/results.md defines every column.

    Example: runner results export --format csv --output evaluations.csv
    """
    from runner.store import Store

    style = style or _style_of(output)
    rows = Store.open(results_folder(results)).export(table, output, style)
    if as_json:
        click.echo(json.dumps({"table": table, "rows": rows, "file": str(output)}))
    else:
        click.echo(f"{output}: {rows} rows of {table}")


def _style_of(output: Path) -> str:
    style = output.suffix.removeprefix(".").lower()
    if style not in ("parquet", "csv"):
        raise InputError(
            "the name doesn't say what to write: end it with .parquet or .csv, or give --format",
            file=output,
        )
    return style


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
            click.echo(
                "run the study again: it computes what was lost; scores of `runner data score` "
                "must be entered again"
            )
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
