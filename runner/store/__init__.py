"""The results tables: schema, append, query."""

from __future__ import annotations

from runner.store.check import LOST, Problem
from runner.store.key import key, stem, stem_of
from runner.store.merge import Merged
from runner.store.plan import Group, Wanted, read_plan
from runner.store.presence import Running, present
from runner.store.repair import Repaired
from runner.store.results import Run, Store
from runner.store.reuse import Reuse, Stale
from runner.store.runs import SWEEP, RecordedRun, find_run, other_studies, recorded_runs
from runner.store.schema import ATTEMPTS, OUTCOMES, PREDICTIONS, RUNS

__all__ = [
    "ATTEMPTS",
    "LOST",
    "OUTCOMES",
    "PREDICTIONS",
    "RUNS",
    "SWEEP",
    "Group",
    "Merged",
    "Problem",
    "RecordedRun",
    "Repaired",
    "Reuse",
    "Run",
    "Running",
    "Stale",
    "Store",
    "Wanted",
    "find_run",
    "key",
    "other_studies",
    "present",
    "read_plan",
    "recorded_runs",
    "stem",
    "stem_of",
]
