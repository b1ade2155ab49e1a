"""``runner report``: a run's page, tables and charts."""

from __future__ import annotations

import json
import math
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.folder import Folder, results_folder, results_option
from runner.cli.main import INTERRUPTED
from runner.cli.tables import print_table

if TYPE_CHECKING:
    import pyarrow as pa

    from runner.report import SubmissionFile
    from runner.report.ensembles import EnsembleReport
    from runner.report.kinds import AnyReport
    from runner.report.mlbench import Choices

SECONDS = 5.0
"""Between two pages of a run that is watched."""


class _Seconds(click.FloatRange):
    """A range that has no NaN, which no bound keeps out."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds = float(super().convert(value, param, ctx))
        if math.isnan(seconds):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return seconds


@click.command("report")
@results_option("The results to report.")
@click.option(
    "--output",
    type=Folder(),
    help="Where page, tables and charts go.  [default: report/ in the results' folder]",
)
@click.option(
    "--run",
    metavar="RUN_ID|STUDY",
    help="A run, or the latest one of a study, where the results hold several.  [default: the "
    "latest run]",
)
@click.option(
    "--published",
    metavar="NAME",
    help="Instead of results, a paper's printed tables: mlbench, or a folder of such tables.",
)
@click.option(
    "--without",
    multiple=True,
    metavar="TASK",
    help="A task that figure 1 leaves out, again for the next one.  [default: the two hardest]",
)
@click.option(
    "--regimes",
    nargs=3,
    type=float,
    default=(1.0, 5.0, 10.0),
    metavar="LOW MIDDLE HIGH",
    help="Where the regimes of quality tolerance end, in percent.  [default: 1 5 10]",
)
@click.option(
    "--small",
    type=click.IntRange(min=1),
    default=10_000,
    metavar="ROWS",
    help="Data sets of fewer training rows are small.  [default: 10000]",
)
@click.option(
    "--watch",
    "seconds",
    type=_Seconds(min=0.5, max=86_400),
    is_flag=False,
    flag_value=SECONDS,
    metavar="[SECONDS]",
    help=f"Rewrite the page while a run goes on.  [without a number: every {SECONDS:g} s]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(
    results: Path | None,
    output: Path | None,
    run: str | None,
    published: str | None,
    without: tuple[str, ...],
    regimes: tuple[float, float, float],
    small: int,
    seconds: float | None,
    as_json: bool,
) -> int:
    """The best configuration of each system, its AUC, training times and outcomes.

    Reports the latest run: what it planned, whichever run computed it. Writes index.html, a page
    that needs no other file and no network; summary.csv, configurations.csv and the chart
    auc_vs_time as SVG and PNG; in tables/ and figures/ what mlbench's paper has of its study, and
    in answers.txt what the numbers say. Where a task's test file has no labels, what the selected
    configurations predict for it is in submissions/TASK/SYSTEM.csv.

    Results into which several studies were merged are reported one by one, with --run.

    Of a study of ensembles: closed gaps, mean ranks and paired comparisons of the techniques, what
    each took, and what training the base models would have (docs/ensembles.md).

    With --watch, the page alone, written again and again until the run has ended; it reloads
    itself. Then the whole report. Ctrl-C ends the watch, not the run.

    With --published, mlbench's tables 6 to 12 and figures 1 to 6 from the numbers that the paper
    printed, and where its print differs from what follows from them.

    Example: runner report --results results/quickstart

    Example: runner report --results results/quickstart --watch

    Example: runner report --published mlbench --output paper
    """
    from runner.mlbench.regimes import Thresholds
    from runner.report.mlbench import Choices

    if run is not None and seconds is not None:
        raise click.UsageError("--watch follows the latest run: leave out --run")
    choices = Choices(Thresholds(*regimes), without or None, small)
    if published is not None:
        if results is not None or run is not None:
            raise click.UsageError("--published takes no results: leave out --results and --run")
        if seconds is not None:
            raise click.UsageError("--published takes no --watch: a paper's numbers don't change")
        _report_paper(published, output, choices, as_json)
        return 0
    if seconds is None:
        report: AnyReport | None = _report_run(results, output, choices, run)
    else:
        from runner.cli.watch import follow

        report = follow(results, output, seconds, choices)
    if report is None:
        return INTERRUPTED
    _print_report(report, results_folder(results), as_json)
    return 0


def _report_run(
    results: Path | None, output: Path | None, choices: Choices, run: str | None
) -> AnyReport:
    from runner.report.kinds import write_report
    from runner.store import Store, other_studies

    folder = results_folder(results)
    store = Store.open(folder)
    report = write_report(store, output or folder / "report", run, choices)
    if others := other_studies(store, report.run_id):
        names = ", ".join(f"{other.study} ({other.kind}, run {other.run_id})" for other in others)
        text = (
            f"the results hold other studies too: {names}; --run STUDY or --run RUN_ID reports one"
        )
        click.echo(text, err=True)
    return report


def _print_report(report: AnyReport, folder: Path, as_json: bool) -> None:
    from rich.console import Console

    from runner.report.ensembles import EnsembleReport

    if isinstance(report, EnsembleReport):
        _print_ensembles(report, as_json)
        return
    if as_json:
        document = {
            "run_id": report.run_id,
            "summary": report.table.rows,
            "notes": report.notes,
            "answers": report.study.sentences,
            "submissions": [asdict(submission) for submission in report.submissions],
            "files": [str(path) for path in report.files],
        }
        click.echo(json.dumps(document, default=str))
        return
    console = Console() if sys.stdout.isatty() else Console(width=160)
    console.print(report.table)
    for note in report.notes:
        click.echo(note)
    for submission in report.submissions:
        if submission.entered is None:
            click.echo(f"to be sent in: {submission.file}; then: {_entering(submission, folder)}")
    click.echo(f"page: {report.page}")
    click.echo(f"tables: {report.summary_csv}, {report.configurations_csv}")
    click.echo(f"chart: {report.chart_svg}, {report.chart_png}")
    click.echo(f"the study: tables, figures and answers.txt in {report.summary_csv.parent}")


def _print_ensembles(report: EnsembleReport, as_json: bool) -> None:
    if as_json:
        document = {
            "run_id": report.run_id,
            "tables": {name: table.to_pylist() for name, table in report.tables.items()},
            "notes": report.notes,
            "answers": report.sentences,
            "files": [str(path) for path in report.files],
        }
        click.echo(json.dumps(document))
        return
    print_table(_rounded(report.shown, 4))
    for note in (*report.notes, *report.sentences):
        click.echo(note)
    click.echo(f"page: {report.page}")
    click.echo(f"tables, figures and answers.txt: in {report.page.parent}")


def _entering(submission: SubmissionFile, results: Path) -> str:
    command = shlex.join(["runner", "data", "score", submission.task, submission.system])
    return f"{command} SCORE --results {shlex.quote(str(results))}"


def _report_paper(name: str, output: Path | None, choices: Choices, as_json: bool) -> None:
    from runner.report.mlbench import write_published

    folder = output or Path("results") / f"{Path(name).name}-paper"
    paper = write_published(name, folder, choices)
    if as_json:
        document = {
            "published": paper.study.name,
            "tables": {name: table.to_pylist() for name, table in paper.tables.items()},
            "answers": paper.sentences,
            "differences": [asdict(difference) for difference in paper.differences],
            "files": [str(path) for path in paper.files],
        }
        click.echo(json.dumps(document))
        return
    print_table(_rounded(paper.tables["table9"]))
    for difference in paper.differences:
        click.echo(
            f"{difference.table}, {difference.row}, {difference.column}: "
            f"printed {difference.printed}, computed {difference.computed:.6g}"
        )
    for sentence in paper.sentences:
        click.echo(sentence)
    click.echo(f"{len(paper.tables['missing'])} values are missing: {folder}/tables/missing.csv")
    click.echo(f"page: {folder}/index.html")
    click.echo(f"tables: {folder}/tables, figures: {folder}/figures")


def _rounded(table: pa.Table, digits: int = 2) -> pa.Table:
    """Numbers as a paper prints them, for people."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for index, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            table = table.set_column(index, field.name, pc.round(table.column(index), digits))
    return table
