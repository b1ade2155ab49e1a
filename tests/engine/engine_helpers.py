"""A source of jobs, a sink and an observer for the engine's tests."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from runner.engine import Evaluation, Job, Settings
from runner.sandbox import Limits

GIB = 2**30

COLUMNS = {"run_id": "run", "study": "study", "timing": "packed", "versions": "{}"}


def job(name: str, cost: float = 0.01, arrays: str | None = None, **argument: Any) -> Job:
    """A job whose evaluations NAME-0, NAME-1, ... report the scores in the argument."""
    argument.setdefault("scores", [0.5])
    return Job(
        evaluations=tuple(
            Evaluation(f"{name}-{i}", {"stage": "cv", "task": "task", "configuration_id": i})
            for i in range(len(argument["scores"]))
        ),
        argument=pickle.dumps(argument),
        cost=cost,
        arrays=arrays,
    )


class Jobs:
    """A source of these jobs, and of those that ``after`` makes of finished rows."""

    def __init__(
        self,
        jobs: Sequence[Job],
        after: Callable[[Mapping[str, Any]], Sequence[Job]] = lambda row: (),
    ):
        self._jobs = jobs
        self._after = after

    def initial(self) -> Sequence[Job]:
        return self._jobs

    def follow_up(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Job]:
        return [job for row in rows for job in self._after(row)]


class Table:
    """A sink that keeps rows, and may do something at each commit."""

    def __init__(self, at_commit: Callable[[pa.Table], None] = lambda rows: None):
        self.commits: list[pa.Table] = []
        self.predictions: list[pa.Table] = []
        self._at_commit = at_commit

    def __call__(self, rows: pa.Table, predictions: pa.Table | None) -> None:
        self._at_commit(rows)
        if predictions is not None:
            self.predictions.append(predictions)
        self.commits.append(rows)

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = pa.concat_tables(self.commits).to_pylist()
        return rows

    def by_key(self) -> dict[str, dict[str, Any]]:
        """The rows by key; fails if a key is there twice."""
        rows = self.rows
        found = {row["key"]: row for row in rows}
        assert len(found) == len(rows)
        return found


class Quiet:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []
        self.messages: list[str] = []

    def progress(self, done: int, total: int, seconds_left: float | None) -> None:
        self.told.append((done, total))

    def message(self, text: str) -> None:
        self.messages.append(text)


def settings(**changes: Any) -> Settings:
    """Settings for `works.act` in sandboxes of one core."""
    values: dict[str, Any] = {
        "function": "works:act",
        "limits": Limits(cpus=1, memory=GIB, seconds=10.0),
        "columns": COLUMNS,
        **changes,
    }
    return Settings(**values)
