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
from runner.store.schema import ATTEMPTS, OUTCOMES, PREDICTIONS, RUNS

__all__ = [
    "ATTEMPTS",
    "LOST",
    "OUTCOMES",
    "PREDICTIONS",
    "RUNS",
    "Group",
    "Merged",
    "Problem",
    "Repaired",
    "Reuse",
    "Run",
    "Running",
    "Stale",
    "Store",
    "Wanted",
    "key",
    "present",
    "read_plan",
    "stem",
    "stem_of",
]
