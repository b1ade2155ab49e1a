"""The tasks of a study, loaded, with what is wrong with them traced to the study's file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from runner.config.study import SweepStudy
from runner.data import (
    BundledSource,
    FileSource,
    OpenmlSource,
    Split,
    Task,
    TaskError,
    load,
    split,
)
from runner.errors import InputError, suggestion
from runner.mlbench.leaderboard import AUC_BOUNDS, Leaderboard, read_leaderboard

_KEYS = {BundledSource: "sklearn", FileSource: "file", OpenmlSource: "openml"}


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
                    key=_KEYS[type(entry.source)],
                )
            load_leaderboard(study, index)
            splits.append(split(task, folds=study.folds, holdout=study.holdout, seed=study.seed))
            tasks.append(task)
    return tuple(tasks), tuple(splits)


def load_leaderboard(study: SweepStudy, index: int) -> Leaderboard | None:
    """The leaderboard of the competition that a task is from; None where the study names none.

    Args:
        study: The study.
        index: The task's, in the file's order.

    Raises:
        InputError: The file isn't there or isn't a leaderboard, or has more teams than the study
            says; with file and line.
    """
    competition = study.tasks[index].competition
    if competition is None or competition.leaderboard is None:
        return None
    file = competition.leaderboard

    def problem(key: str, message: str) -> InputError:
        return InputError(message, file=study.path, line=study.line("tasks", index, key))

    if not file.is_file():
        near = sorted(path.name for path in file.parent.glob("*.csv"))
        hint = f": {suggestion(file.name, near)}" if near else ""
        raise problem("leaderboard", f"there is no leaderboard {file}{hint}")
    found = read_leaderboard(file, winning=competition.winning, bounds=AUC_BOUNDS)
    if competition.teams is None:
        return found
    if competition.teams < found.teams:
        raise problem(
            "teams",
            f"teams must be at least {found.teams}, as many as {file} has, not {competition.teams}",
        )
    return replace(found, teams=competition.teams)


@contextmanager
def located(study: SweepStudy, index: int) -> Iterator[None]:
    """Within it, an error of the study's task number ``index`` names its file and line."""
    try:
        yield
    except TaskError as error:
        line = study.line("tasks", index, error.key)
        raise InputError(error.message, file=study.path, line=line) from error
