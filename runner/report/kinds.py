"""The report that a run's kind of study has."""

from __future__ import annotations

from pathlib import Path

from runner.report.ensembles import EnsembleReport, load_outcome, write_ensembles
from runner.report.files import Report, write
from runner.report.mlbench import Choices
from runner.store import Store


def write_report(
    store: Store, output: Path, choices: Choices | None = None
) -> Report | EnsembleReport:
    """Writes the report of the latest run, as ``write`` and ``write_ensembles`` do.

    Args:
        store: The results.
        output: The folder; files of an earlier report in it are replaced.
        choices: What of a sweep's study is wanted otherwise than mlbench's paper has it.

    Raises:
        InputError: There is no run, or the folder can't be written to.
    """
    outcome = load_outcome(store)
    if outcome is not None:
        return write_ensembles(outcome, output)
    return write(store, output, choices=choices)
