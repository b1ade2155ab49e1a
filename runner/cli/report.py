"""``runner report``: a run's tables and chart."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from runner.cli.folder import Folder, results_folder, results_option


@click.command("report")
@results_option("The results to report.")
@click.option(
    "--output",
    type=Folder(),
    help="Where tables and chart go.  [default: report/ in the results' folder]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(results: Path | None, output: Path | None, as_json: bool) -> None:
    """The best configuration of each system, its AUC, training times and outcomes.

    Reports the latest run: what it planned, whichever run computed it. Writes summary.csv,
    configurations.csv and the chart auc_vs_time as SVG and PNG.

    Example: runner report --results results/quickstart
    """
    from rich.console import Console

    from runner.report import write
    from runner.store import Store

    folder = results_folder(results)
    report = write(Store.open(folder), output or folder / "report")
    if as_json:
        document = {
            "run_id": report.run_id,
            "summary": report.table.rows,
            "notes": report.notes,
            "files": [str(path) for path in report.files],
        }
        click.echo(json.dumps(document, default=str))
        return
    console = Console() if sys.stdout.isatty() else Console(width=160)
    console.print(report.table)
    for note in report.notes:
        click.echo(note)
    click.echo(f"tables: {report.summary_csv}, {report.configurations_csv}")
    click.echo(f"chart: {report.chart_svg}, {report.chart_png}")
