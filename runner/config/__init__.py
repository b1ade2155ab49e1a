"""Studies' files, checked before anything runs."""

from runner.config.ensembles import (
    EnsembleStudy,
    TechniqueEntry,
    ensemble_study,
    load_ensemble_study,
)
from runner.config.study import PLATFORMS, Competition, Sandbox, SweepStudy, TaskEntry, load_study
from runner.config.systems import SystemEntry
from runner.config.tasks import load_leaderboard, load_tasks, located

__all__ = [
    "PLATFORMS",
    "Competition",
    "EnsembleStudy",
    "Sandbox",
    "SweepStudy",
    "SystemEntry",
    "TaskEntry",
    "TechniqueEntry",
    "ensemble_study",
    "load_ensemble_study",
    "load_leaderboard",
    "load_study",
    "load_tasks",
    "located",
]
