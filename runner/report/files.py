"""A report as files, and as something to print."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.errors import InputError
from runner.report.chart import auc_vs_time
from runner.report.mlbench import Choices, Written, write_study
from runner.report.notes import notes
from runner.report.page import Content, of_run, write_page
from runner.report.rows import load
from runner.report.study import study_of
from runner.report.style import save
from runner.report.submissions import SubmissionFile, write_submissions
from runner.report.summary import tabulate
from runner.report.table import SummaryTable, write_csv
from runner.report.times import comparable
from runner.store import Store


@dataclass(frozen=True)
class Report:
    """What was written and what to print.

    Attributes:
        run_id: The run that it is about.
        table: For rich to print.
        notes: Sentences that belong below the table.
        study: The same run as mlbench's study: its tables, figures and answers.
        page: All of that as one HTML file.
        submissions: Predictions for the competitions that alone have the test labels.
    """

    run_id: str
    table: SummaryTable
    notes: tuple[str, ...]
    summary_csv: Path
    configurations_csv: Path
    chart_svg: Path
    chart_png: Path
    study: Written
    page: Path
    submissions: tuple[SubmissionFile, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        """All that was written."""
        own = self.summary_csv, self.configurations_csv, self.chart_svg, self.chart_png
        return (self.page, *own, *self.study.files, *(found.file for found in self.submissions))


def write(
    store: Store, output: Path, run_id: str | None = None, choices: Choices | None = None
) -> Report:
    """Writes page, tables and charts of a run into a folder, which is made where it is missing.

    Args:
        store: The results.
        output: The folder; files of an earlier report in it are replaced.
        run_id: The run; by default the latest one.
        choices: What of mlbench's study is wanted otherwise than the paper has it.

    Raises:
        InputError: There is no such run, a task to leave out isn't in it, or the folder can't be
            written to.
    """
    rows = comparable(load(store, run_id))
    tables = tabulate(rows)
    said = tuple(notes(rows, tables.summary))
    study = write_study(study_of(store, rows, tables), output, choices)
    content = of_run(store, rows, tables.summary, tables.configurations, said, study.content)
    report = Report(
        run_id=rows.run_id,
        table=SummaryTable(tables.summary),
        notes=said,
        summary_csv=output / "summary.csv",
        configurations_csv=output / "configurations.csv",
        chart_svg=output / "auc_vs_time.svg",
        chart_png=output / "auc_vs_time.png",
        study=study,
        page=write_page(content, output),
        submissions=write_submissions(store, rows.run_id, tables.summary, output),
    )
    try:
        write_csv(tables.summary, report.summary_csv)
        write_csv(tables.configurations, report.configurations_csv)
        chart = auc_vs_time(tables.summary, tables.configurations, rows.study)
        save(chart, report.chart_svg, report.chart_png)
    except OSError as error:
        raise InputError(f"can't write here: {error.strerror or error}", file=output) from error
    return report


def preview(store: Store, run_id: str) -> Content:
    """What the page has of a run that is still going: its rows so far, without the study's tables,
    figures and answers, in which half a run would mislead.

    Args:
        store: The results.
        run_id: The run.

    Raises:
        InputError: There is no such run.
    """
    rows = comparable(load(store, run_id))
    tables = tabulate(rows)
    said = tuple(notes(rows, tables.summary))
    nothing = Content(rows.study, (), (), (), (), ())
    return of_run(store, rows, tables.summary, tables.configurations, said, nothing)
