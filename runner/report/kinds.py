"""The report that a run's kind of study has."""

from __future__ import annotations

from pathlib import Path

from runner.report.ensembles import EnsembleReport, load_outcome, write_ensembles
from runner.report.files import Report, write
from runner.report.mlbench import Choices
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
