"""Runs jobs in one slot's sandbox and notes the circumstances of each."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import numpy as np

from runner.engine.node import Board, Lease, lease_cores, machine
from runner.engine.node_arrays import NodeArrays
from runner.engine.quiet import PATIENCE_SECONDS, QuietWatch, read_governor, read_turbo
from runner.engine.records import Circumstances, JobRecord
from runner.engine.schedule import Entry
from runner.sandbox import InProcess, Limits, Result, Sandbox, Work


@dataclass(frozen=True)
class Task:
    """A job as its slot needs it: without the columns that only the driver needs."""

    number: int
    argument: bytes
    evaluations: int
    arrays: str | None

    @classmethod
    def of(cls, entry: Entry) -> Task:
        """The task of this job."""
        job = entry.job
        return cls(entry.number, job.argument, len(job.evaluations), job.arrays)


@dataclass(frozen=True)
class Conditions:
    """What is equal for all jobs of a run.

    Attributes:
        run: A name that no other run has.
        function: What a job runs, as ``package.module:name``.
        warm_up: What it runs before the clock starts; None for nothing.
        preload: Modules that the sandbox imports, and functions that it calls, before its first
            job.
        limits: Of one evaluation.
        threads: What a fit may use of the slot's cores.
        paths: Where the driver looks for modules, so that a slot finds the same ones.
        confined: Whether jobs run in a sandbox, or in the slot's own process.
        exclusive: Whether each waits for a quiet machine.
        quiet_seconds: How long it waits at most.
    """

    run: str
    function: str
    warm_up: str | None
    preload: tuple[str, ...]
    limits: Limits
    threads: int
    paths: tuple[str, ...] = ()
    confined: bool = True
    exclusive: bool = False
    quiet_seconds: float = PATIENCE_SECONDS


class Box(Protocol):
    """The part of a sandbox's interface that a bench uses."""

    def run(self, work: Work, limits: Limits) -> Result: ...

    def close(self) -> None: ...


Fetch = Callable[[str], Mapping[str, np.ndarray]]


class Bench:
    """A slot at work: leased cores, the node's arrays, and the sandbox.

    Args:
        conditions: What is equal for all jobs.
        fetch: Gives arrays by name where this node hasn't them yet.
    """

    def __init__(self, conditions: Conditions, fetch: Fetch):
        self._conditions = conditions
        self._fetch = fetch
        self._machine = machine()
        self._watch = QuietWatch(conditions.quiet_seconds) if conditions.exclusive else None
        self._lease = lease_cores(conditions.limits.cpus, sorted(os.sched_getaffinity(0)))
        self._arrays: NodeArrays | None = None
        self._box: Box | None = None
        try:
            self._board = Board(self._lease.seat)
            self._arrays = NodeArrays(conditions.run)
            self._box = _started_box(self._lease, conditions)
        except BaseException:
            self.close()
            raise

    def run(self, task: Task) -> JobRecord:
        """Run one job and say what became of it."""
        assert self._box is not None
        conditions, clock = self._conditions, time.monotonic()
        quiet = None if self._watch is None else self._watch.wait()
        started_at, load = datetime.now(UTC), os.getloadavg()[0]
        work = Work(
            function=conditions.function,
            argument=task.argument,
            evaluations=task.evaluations,
            arrays=self._folder(task.arrays),
            warm_up=conditions.warm_up,
        )
        with self._board.busy() as neighbours:
            result = self._box.run(work, conditions.limits)
        circumstances = Circumstances(
            started_at=started_at,
            slot_seconds=time.monotonic() - clock,
            neighbours=neighbours.mean,
            load=load,
            node=platform.node(),
            machine=self._machine,
            enforced=self._enforced(result),
            quiet=quiet,
            governor=None if quiet is None else read_governor(self._lease.cores),
            turbo=None if quiet is None else read_turbo(),
        )
        return JobRecord(task.number, result, circumstances)

    def close(self) -> None:
        """End the sandbox and give everything back."""
        if self._box is not None:
            self._box.close()
        if self._arrays is not None:
            self._arrays.close()
        self._lease.release()

    def _folder(self, name: str | None) -> str | None:
        if name is None:
            return None
        assert self._arrays is not None
        return self._arrays.folder(name, lambda: self._fetch(name))

    def _enforced(self, result: Result) -> Mapping[str, str]:
        if not self._lease.shared:
            return result.enforced
        # Its cores are limited, but not its own: a time taken so is worth less.
        return {**result.enforced, "cpu": f"{result.enforced.get('cpu', 'none')}, shared cores"}


def _started_box(lease: Lease, conditions: Conditions) -> Box:
    if not conditions.confined:
        return InProcess()
    box = Sandbox(lease.cores, threads=conditions.threads, preload=conditions.preload)
    box.start()
    return box
