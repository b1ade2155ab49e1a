"""Studies' files, checked before anything runs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.config.ensembles import (
        EnsembleStudy,
        TechniqueEntry,
        ensemble_study,
        load_ensemble_study,
    )
    from runner.config.study import (
        PLATFORMS,
        Competition,
        Sandbox,
        SweepStudy,
        TaskEntry,
        find_task,
        load_study,
    )
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
    "find_task",
    "load_ensemble_study",
    "load_leaderboard",
    "load_study",
    "load_tasks",
    "located",
]

# Found when they are asked for: what reads another kind of file needs no model families, whose
# libraries take seconds to import.
_MODULES = {
    "EnsembleStudy": "runner.config.ensembles",
    "TechniqueEntry": "runner.config.ensembles",
    "ensemble_study": "runner.config.ensembles",
    "load_ensemble_study": "runner.config.ensembles",
    "SystemEntry": "runner.config.systems",
    "load_leaderboard": "runner.config.tasks",
    "load_tasks": "runner.config.tasks",
    "located": "runner.config.tasks",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES.get(name, "runner.config.study")), name)
