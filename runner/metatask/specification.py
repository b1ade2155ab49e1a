"""A benchmark of metatasks as a file: which tasks with which runs, so that it can be built again.

The file is JSON with the keys of Assembled-OpenML's benchmark details, whose files are read as
well: the original's programs can build from ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.errors import InputError, suggestion
from runner.metatask.openml_selection import Candidate, named_candidate
from runner.replacing import replacing

_TASKS = "task_ids_to_valid_predictors"
_ORDER = "valid_task_ids"
_CONSTRAINTS = "selection_constraints"


@dataclass(frozen=True)
class Specification:
    """A benchmark.

    Attributes:
        tasks: By the number of a task its runs, in the order of a metatask's models.
        metric: What the runs were selected by; empty where nobody says.
        maximize: Whether higher is better by it.
        constraints: How they were selected, for a reader.
    """

    tasks: Mapping[int, tuple[Candidate, ...]]
    metric: str = ""
    maximize: bool = True
    constraints: Mapping[str, Any] = field(default_factory=dict)


def read_specification(path: Path) -> Specification:
    """A benchmark from its file.

    Raises:
        InputError: The file isn't one, with its line where JSON is broken.
    """
    document = _document(path)
    given = document[_TASKS]
    order = document.get(_ORDER) or list(given)
    for task in order:
        if str(task) not in given:
            raise InputError(
                f"task {task} of {_ORDER!r} has no predictors in {_TASKS!r}", file=path
            )
    constraints = document.get(_CONSTRAINTS) or {}
    return Specification(
        tasks={_task(task, path): _candidates(given[str(task)], task, path) for task in order},
        metric=str(constraints.get("openml_metric_name") or ""),
        maximize=bool(constraints.get("maximize_metric", True)),
        constraints=constraints,
    )


def write_specification(specification: Specification, path: Path) -> None:
    """Write a benchmark's file; one that is there is replaced as a whole."""
    document = {
        _ORDER: [str(task) for task in specification.tasks],
        _TASKS: {
            str(task): [candidate.name for candidate in candidates]
            for task, candidates in specification.tasks.items()
        },
        _CONSTRAINTS: {
            "openml_metric_name": specification.metric,
            "maximize_metric": specification.maximize,
            **specification.constraints,
        },
    }
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InputError(f"is no JSON: {error.msg}", file=path, line=error.lineno) from error
    except RecursionError:
        raise InputError(
            "is no JSON that can be read: it is nested too deeply", file=path
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"can't be read: {error}", file=path) from error
    if not isinstance(document, dict) or not isinstance(document.get(_TASKS), dict):
        known = document if isinstance(document, dict) else ()
        raise InputError(
            f"has no key {_TASKS!r} with the predictors of each task: {suggestion(_TASKS, known)}",
            file=path,
        )
    return document


def _task(task: object, path: Path) -> int:
    try:
        return int(str(task))
    except ValueError:
        raise InputError(f"{task!r} is no number of an OpenML task", file=path) from None


def _candidates(names: object, task: object, path: Path) -> tuple[Candidate, ...]:
    if not isinstance(names, list) or not names:
        raise InputError(f"task {task} has no list of predictors", file=path)
    try:
        found = tuple(named_candidate(str(name)) for name in names)
    except ValueError as error:
        raise InputError(f"task {task}: {error}", file=path) from error
    if len(set(found)) < len(found):
        twice = next(one.name for one in found if found.count(one) > 1)
        raise InputError(f"task {task} names {twice} more than once", file=path)
    return found
