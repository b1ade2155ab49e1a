"""The report on a study of ensembles: the paper's tables and figures, statistics, answers."""

from __future__ import annotations

from runner.report.ensembles.outcome import Outcome, load_outcome
from runner.report.ensembles.writing import EnsembleReport, preview_ensembles, write_ensembles

__all__ = ["EnsembleReport", "Outcome", "load_outcome", "preview_ensembles", "write_ensembles"]
