"""Studies' files, checked before anything runs."""

from runner.config.study import Sandbox, SweepStudy, TaskEntry, load_study
from runner.config.systems import SystemEntry
from runner.config.tasks import load_tasks, located

__all__ = [
    "Sandbox",
    "SweepStudy",
    "SystemEntry",
    "TaskEntry",
    "load_study",
    "load_tasks",
    "located",
]
