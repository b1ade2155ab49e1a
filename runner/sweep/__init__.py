"""mlbench's sweeps: from a study's grids to jobs, and from their rows to selections."""

from runner.study import Options, Outlook
from runner.sweep.run import Sweep, SweepSummary

__all__ = ["Options", "Outlook", "Sweep", "SweepSummary"]
