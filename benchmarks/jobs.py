"""Jobs whose cost is known, and a source that hands them out."""

from __future__ import annotations

import pickle
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from runner.engine import Evaluation, Job, Settings
from runner.sandbox import Limits

WORK = "benchmarks.work"


class Sleepers:
    """A source of jobs that sleep for some seconds each."""

    def __init__(self, count: int, seconds: float):
        self._count = count
        self._seconds = seconds

    def initial(self) -> Sequence[Job]:
        columns = {"stage": "cv", "task": "none", "system": "sleep", "metric": "none"}
        return [
            Job(
                evaluations=(Evaluation(f"{number:040d}", columns),),
                argument=pickle.dumps(self._seconds),
                cost=self._seconds + 0.01,
            )
            for number in range(self._count)
        ]

    def follow_up(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Job]:
        return []


class Recorder:
    """A sink and an observer: keeps keys, when they came, and when their jobs ran.

    Attributes:
        arrivals: Moments (``time.monotonic``) and the number of rows that came then.
        began: When each job's slot turned to it.
        seconds: Each job's wall clock.
    """

    def __init__(self) -> None:
        self.began: list[datetime] = []
        self.seconds: list[float] = []
        self.keys: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.arrivals: list[tuple[float, int]] = []
        self.messages: list[str] = []

    def __call__(self, attempts: pa.Table, predictions: pa.Table | None) -> None:
        self.keys.update(attempts["key"].to_pylist())
        self.outcomes.update(attempts["outcome"].to_pylist())
        self.arrivals.append((time.monotonic(), len(attempts)))
        self.began += attempts["started_at"].to_pylist()
        self.seconds += attempts["wall_seconds"].to_pylist()

    def progress(self, done: int, total: int, seconds_left: float | None) -> None:
        pass

    def message(self, text: str) -> None:
        self.messages.append(text)


def settings(seconds: float, **others: Any) -> Settings:
    """Settings of a run of sleepers: slots of one core and 100 MB."""
    return Settings(
        function=f"{WORK}:sleep",
        preload=(WORK,),
        limits=Limits(cpus=1, memory=100_000_000, seconds=60.0 + seconds),
        columns={"run_id": "benchmark", "study": "benchmark", "timing": "packed"},
        **others,
    )
