"""The Ray Tune trainable that holds one slot: an actor that runs batch after batch of jobs."""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import ray
from ray import tune

from runner.engine.bench import Bench, Conditions, Task
from runner.engine.records import JobRecord, encode

COLLECT_SECONDS = 0.5
"""A finished job's record waits at most this long for others to travel with it."""

FULL_BYTES = 32 << 20
"""Predictions of this size travel at once."""

OVERDUE_FACTOR = 2.0
OVERDUE_SECONDS = 2.0
"""A batch that takes longer than this factor and this many seconds more than predicted ends
before its next job, so that other slots get the rest of it."""

UNFIT_SECONDS = 1.0
"""How long a slot that can't start keeps a batch before it gives it back."""


class Batch:
    """Jobs for a slot, the dearest first.

    Passes through Tune as a trial's configuration, which Tune copies, prints and keeps: so it is
    never copied, is short in print, and is emptied once its trial is over.

    Args:
        conditions: What is equal for all jobs.
        tasks: The jobs.
        seconds: How long they should take together.
        references: Ray's references to the arrays that they need, by name.
    """

    def __init__(
        self,
        conditions: Conditions,
        tasks: Sequence[Task],
        seconds: float,
        references: Mapping[str, Any],
    ):
        self.conditions = conditions
        self.tasks = tuple(tasks)
        self.seconds = seconds
        self.references = dict(references)

    def __repr__(self) -> str:
        return f"{len(self.tasks)} jobs"

    def __deepcopy__(self, memo: Any) -> Batch:
        return self

    def clear(self) -> None:
        """Forget the jobs."""
        self.tasks = ()
        self.references = {}


class Slot(tune.Trainable):  # type: ignore[misc]
    """One slot.

    Results have the keys ``done``, ``message`` (records; None in a batch's first one, which only
    says that the slot works) and ``unfit`` (why it can't start; else None).
    """

    def setup(self, config: dict[str, Any]) -> None:
        # Ray has read it by now, and what runs in a sandbox needn't.
        os.environ.pop("RAY_AUTH_TOKEN", None)
        self._worker: _Worker | None = None
        self._unfit: str | None = None
        self._new = True
        self._begin(config["batch"])

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self._begin(new_config["batch"])
        return True

    def step(self) -> dict[str, Any]:
        if self._worker is None:
            # Not at once: on a node where nothing starts it would turn over batches for nothing.
            time.sleep(UNFIT_SECONDS)
            return {"message": None, "unfit": self._unfit, "done": True}
        if self._new:
            self._new = False
            return {"message": None, "unfit": None, "done": False}
        records, done = self._worker.collect()
        return {"message": encode(records), "unfit": None, "done": done}

    def cleanup(self) -> None:
        if self._worker is not None:
            self._worker.close()

    def _begin(self, batch: Batch) -> None:
        # Tune sends the configuration back with every result.
        self.config: dict[str, Any] = {}
        self._new = True
        try:
            known = batch.conditions.paths
            sys.path.extend(path for path in known if path not in sys.path)
            if self._worker is None:
                self._worker = _Worker(batch.conditions)
            self._worker.start_batch(batch)
        except Exception as error:
            # Told in place of a result: a dead actor would be taken for a job's fault.
            self._unfit = f"{type(error).__name__}: {error}"


class _Worker:
    """The thread that runs jobs, while the actor's own thread carries records to the driver.

    So a record leaves in time whatever the next job takes, and jobs don't wait for the driver.
    The thread lives as long as the actor: the sandbox's processes die with the thread that
    started them (PDEATHSIG).
    """

    def __init__(self, conditions: Conditions):
        self._batches: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self._records: queue.SimpleQueue[JobRecord | Exception | None] = queue.SimpleQueue()
        self._references: dict[str, Any] = {}
        self._thread = threading.Thread(
            target=self._work, args=[conditions], name="jobs", daemon=True
        )
        self._thread.start()
        ready = self._records.get()
        if isinstance(ready, Exception):
            raise ready

    def start_batch(self, batch: Batch) -> None:
        """Run these jobs next."""
        self._batches.put(batch)

    def collect(self) -> tuple[list[JobRecord], bool]:
        """Records of finished jobs, at least one unless the batch is over, and whether it is."""
        records: list[JobRecord] = []
        size = 0
        until: float | None = None
        while size < FULL_BYTES:
            try:
                record = self._records.get(timeout=until and max(0, until - time.monotonic()))
            except queue.Empty:
                break
            if record is None:
                return records, True
            if isinstance(record, Exception):
                raise record
            records.append(record)
            size += _predicted_bytes(record)
            until = until or time.monotonic() + COLLECT_SECONDS
        return records, False

    def close(self) -> None:
        """End the sandbox."""
        self._batches.put(None)
        self._thread.join()

    def _work(self, conditions: Conditions) -> None:
        try:
            bench = Bench(conditions, self._fetch)
        except Exception as error:
            self._records.put(error)
            return
        self._records.put(None)
        try:
            while (batch := self._batches.get()) is not None:
                self._run(bench, batch)
        except Exception as error:
            self._records.put(error)
        finally:
            bench.close()

    def _run(self, bench: Bench, batch: Batch) -> None:
        self._references = batch.references
        overdue = time.monotonic() + OVERDUE_FACTOR * batch.seconds + OVERDUE_SECONDS
        for task in batch.tasks:
            if time.monotonic() > overdue:
                break
            self._records.put(bench.run(task))
        self._references = {}
        self._records.put(None)

    def _fetch(self, name: str) -> Mapping[str, np.ndarray]:
        arrays: Mapping[str, np.ndarray] = ray.get(self._references[name])
        return arrays


def _predicted_bytes(record: JobRecord) -> int:
    return sum(
        array.nbytes
        for finding in record.result.findings
        if finding.predictions is not None
        for array in finding.predictions.values()
    )
