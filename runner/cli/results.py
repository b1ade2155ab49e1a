"""``runner results``: care of a store."""

from __future__ import annotations

import json
from pathlib import Path

import click

from runner.cli.folder import results_folder, results_option

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
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def check(results: Path | None, as_json: bool) -> int:
    """Look for rows that can't be right; exit status 1 where there are any.

    Example: runner results check --results results/quickstart
    """
    from runner.store import Store

    folder = results_folder(results)
    problems = [str(problem) for problem in Store.open(folder).check()]
    if as_json:
        click.echo(json.dumps({"problems": problems}))
    elif problems:
        click.echo("\n".join(problems))
    else:
        click.echo(f"{folder}: nothing wrong")
    return int(bool(problems))
