"""``runner metatask score``: the closed gaps of results that the original's program stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from runner.ensemble.closed_gap import Spread


@click.command("score")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--tasks",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE.csv",
    help="The table of tasks, as the original's benchmark_metatask_overview.csv.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(folder: Path, tasks: Path, as_json: bool) -> None:
    """Score the results_for_metatask_*.csv in DIR: how much of the VBA-SBA gap techniques close.

    The mean and the standard deviation over tasks, over all of them and over those of 1,900 rows
    or more. A task whose bounds are equal is left out and named.

    Example: runner metatask score results/ --tasks benchmark_metatask_overview.csv
    """
    from runner.ensemble.closed_gap import LARGE_ROWS
    from runner.ensemble.stored import read_results

    results = read_results(folder, tasks)
    gaps = results.closed_gaps()
    rows = {"all": gaps.spread(), f"n>={LARGE_ROWS}": gaps.spread(results.large())}
    for task in gaps.without_gap:
        text = f"task {task} is left out: {results.virtual_best} is no better than "
        click.echo(text + results.single_best, err=True)
    if as_json:
        click.echo(json.dumps({name: _document(row) for name, row in rows.items()}))
    else:
        _print(rows)


def _document(row: Mapping[str, Spread] | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {name: {"mean": found.mean, "std": found.std} for name, found in row.items()}


def _print(rows: Mapping[str, Mapping[str, Spread] | None]) -> None:
    import pyarrow as pa

    from runner.cli.tables import print_table

    names = next((list(row) for row in rows.values() if row), [])
    lines = []
    for name, row in rows.items():
        tasks = max((found.tasks for found in row.values()), default=0) if row else 0
        cells = {technique: _cell(row[technique]) if row else "" for technique in names}
        lines.append({"closed gap": name, "tasks": tasks, **cells})
    print_table(pa.Table.from_pylist(lines))


def _cell(found: Spread) -> str:
    return f"{found.mean:.3f}" + ("" if found.std is None else f" ({found.std:.3f})")
