"""The tasks of a study, loaded, with what is wrong with them traced to the study's file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from runner.config.study import SweepStudy
from runner.data import BundledSource, Split, Task, TaskError, load, split
from runner.errors import InputError


def load_tasks(study: SweepStudy) -> tuple[tuple[Task, ...], tuple[Split, ...]]:
    """The study's tasks and their splits, in its order.

    Raises:
        InputError: With the study's file and line, for a task that can't be used.
    """
    tasks: list[Task] = []
    splits: list[Split] = []
    names: dict[str, str] = {}
    for index, entry in enumerate(study.tasks):
        with located(study, index):
            task = load(entry.source, entry.name)
            twin = names.setdefault(task.fingerprint, task.name)
            if twin != task.name:
                # Their evaluations would have the same keys.
                raise TaskError(
                    f"tasks {twin!r} and {task.name!r} are the same data; leave one out",
                    key="sklearn" if isinstance(entry.source, BundledSource) else "file",
                )
            splits.append(split(task, folds=study.folds, holdout=study.holdout, seed=study.seed))
            tasks.append(task)
    return tuple(tasks), tuple(splits)


@contextmanager
def located(study: SweepStudy, index: int) -> Iterator[None]:
    """Within it, an error of the study's task number ``index`` names its file and line."""
    try:
        yield
    except TaskError as error:
        line = study.line("tasks", index, error.key)
        raise InputError(error.message, file=study.path, line=line) from error
