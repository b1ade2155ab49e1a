"""mlbench's sweeps: from a study's grids to jobs, and from their rows to selections."""

from runner.sweep.run import Options, Outlook, Sweep, SweepSummary

__all__ = ["Options", "Outlook", "Sweep", "SweepSummary"]
