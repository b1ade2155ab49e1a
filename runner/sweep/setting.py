"""What a sweep records of its tasks and systems for the reports on it."""

from __future__ import annotations

from runner.config import TaskEntry, load_leaderboard
from runner.data import FileSource, Task
from runner.mlbench import study as mlbench
from runner.mlbench.setting import Setting
from runner.sweep.plan import Plan


def setting(plan: Plan) -> Setting:
    """The sizes of a plan's tasks, their competitions, and what kinds its systems are of.

    Raises:
        InputError: A leaderboard can't be read; with file and line.
    """
    return Setting(
        tasks=tuple(_task(plan, index) for index in range(len(plan.tasks))),
        systems=tuple(
            mlbench.System(name, mlbench.MODELS.get(name, name), family.linear)
            for name, family in plan.families.items()
        ),
        platforms=plan.study.platforms,
    )


def _task(plan: Plan, index: int) -> mlbench.Task:
    task, split = plan.tasks[index], plan.splits[index]
    competition = plan.study.tasks[index].competition
    won = None if competition is None else competition.winning
    return mlbench.Task(
        name=task.name,
        rows=len(split.train_rows),
        test_rows=len(split.test_rows),
        features=len(task.columns),
        winning=None if won is None else mlbench.Winning(won),
        leaderboard=load_leaderboard(plan.study, index),
        submission=_submission(task, plan.study.tasks[index]),
    )


def _submission(task: Task, entry: TaskEntry) -> mlbench.Submission | None:
    if task.has_test_labels:
        return None
    # Only a test file can lack labels.
    assert isinstance(entry.source, FileSource)
    header = entry.submission or (entry.source.row_id or "row", entry.source.target)
    return mlbench.Submission(task.fingerprint, header)
