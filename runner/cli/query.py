"""``runner query``: SQL over a study's results."""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.folder import results_folder, results_option

if TYPE_CHECKING:
    import pyarrow as pa


@click.command("query")
@click.argument("sql")
@results_option("The results to ask.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def command(sql: str, results: Path | None, style: str, as_json: bool) -> None:
    """Ask the tables evaluations, attempts, predictions and runs, in DuckDB's SQL.

    docs/results.md defines every column.

    Example: runner query "select system, max(score) from evaluations group by 1"
    """
    from runner.cli.tables import print_table
    from runner.store import Store

    answer = Store.open(results_folder(results)).query(sql)
    style = "json" if as_json else style
    {"table": print_table, "csv": _print_csv, "json": _print_json}[style](answer)


def _print_csv(answer: pa.Table) -> None:
    from runner.cli.tables import plain

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(answer.column_names)
    writer.writerows(map(plain, row.values()) for row in answer.to_pylist())


def _print_json(answer: pa.Table) -> None:
    click.echo(json.dumps(_strict(answer.to_pylist()), default=_text, allow_nan=False))


def _strict(value: Any) -> Any:
    """The value with null for NaN and text for infinities, which JSON has no numbers for."""
    if isinstance(value, dict):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _text(value: Any) -> str:
    from runner.cli.tables import plain

    return plain(value)
