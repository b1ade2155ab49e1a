"""The report that a run's kind of study has."""

from __future__ import annotations

from pathlib import Path

from runner.report.ensembles import (
    EnsembleReport,
    load_outcome,
    preview_ensembles,
    write_ensembles,
)
from runner.report.files import Report, preview, write
from runner.report.mlbench import Choices
from runner.report.page import Content
from runner.store import Store

AnyReport = Report | EnsembleReport


def write_report(
    store: Store, output: Path, run_id: str | None = None, choices: Choices | None = None
) -> AnyReport:
    """Writes the report of a run, as ``write`` and ``write_ensembles`` do.

    Args:
        store: The results.
        output: The folder; files of an earlier report in it are replaced.
        run_id: The run; by default the latest one.
        choices: What of a sweep's study is wanted otherwise than mlbench's paper has it.

    Raises:
        InputError: There is no such run, or the folder can't be written to.
    """
    outcome = load_outcome(store, run_id)
    if outcome is not None:
        return write_ensembles(outcome, output)
    return write(store, output, run_id, choices)


def preview_report(store: Store, run_id: str) -> Content:
    """What the page has of a run that is still going, in which half of it doesn't mislead.

    Args:
        store: The results.
        run_id: The run.

    Raises:
        InputError: There is no such run.
    """
    outcome = load_outcome(store, run_id)
    return preview(store, run_id) if outcome is None else preview_ensembles(outcome)
