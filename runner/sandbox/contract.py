"""What crosses the sandbox's border: limits and work going in, findings coming out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

Outcome = Literal["ok", "timeout", "memory", "crash", "error", "infra"]

Trust = Literal["fits", "archive"]
"""Whose code runs: ``fits``: our own estimators; ``archive``: somebody else's, which sees neither
the machine's files and processes nor a network."""


@dataclass(frozen=True)
class Limits:
    """What one evaluation's sandbox may use; None: as much as the machine lets it.

    Attributes:
        cpus: Cores of the sandbox.
        memory: Bytes of the whole process tree, files in /dev/shm included.
        seconds: Wall clock of one evaluation: preparation, fit and prediction. In a shared fit
            each evaluation has this much by its own clock (the scoring of the others excluded).
        cpu_seconds: User and system time of the whole tree in one evaluation, by its own clock
            as ``seconds``.
        processes: Processes and threads of the tree at any time.
        file_size: Bytes of any one file that is written.
        open_files: Files that one process may have open.
    """

    cpus: int
    memory: int
    seconds: float
    cpu_seconds: float | None = None
    processes: int | None = None
    file_size: int | None = None
    open_files: int | None = None

    @property
    def memory_mib(self) -> int:
        """``memory`` in whole MiB, as rows hold it: whoever compares with rows must round alike."""
        return round(self.memory / 2**20)


@dataclass(frozen=True)
class Work:
    """What one sandbox runs: a plain function, called as ``function(arrays, argument, report)``.

    Attributes:
        function: ``package.module:name`` of the function.
        warm_up: ``package.module:name`` of a function of ``argument``, called in the child before
            the clock starts (a toy fit, so that no recorded time holds a first call's cost).
        argument: The function's argument, pickled.
        arrays: Folder of ``NAME.npy`` files, mapped read-only and touched before the clock starts;
            None where the function needs none.
        evaluations: How many evaluations it reports, numbered from 0 in the order they come.
    """

    function: str
    argument: bytes
    evaluations: int
    arrays: str | None = None
    warm_up: str | None = None


class Report(Protocol):
    """What a function in the sandbox calls to hand over its results while it runs."""

    def checkpoint(self, index: int) -> None:
        """Evaluation ``index`` is fitted; what follows until its record is its own scoring."""

    def spare(self, seconds: float) -> None:
        """Of the clock so far, ``seconds`` don't count for the evaluation that is due.

        For a fit that trains models on its way which this evaluation doesn't contain. Each call
        replaces the last one's number; processor time is spared in proportion. Somebody else's
        code (trust ``archive``) has no such word.
        """

    def record(
        self,
        index: int,
        fields: Mapping[str, float | int | str | None],
        predictions: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        """Evaluation ``index`` is done: its measured columns and, if kept, its predictions."""


@dataclass(frozen=True)
class Usage:
    """What the process tree used, measured from outside; None where nothing here can tell."""

    wall_seconds: float
    cpu_seconds: float | None = None
    user_seconds: float | None = None
    system_seconds: float | None = None
    throttled_seconds: float | None = None
    peak_mib: float | None = None
    baseline_mib: float | None = None
    oom_kills: int | None = None


@dataclass(frozen=True)
class Finding:
    """What became of one evaluation.

    Attributes:
        wall_seconds: The sandbox's clock for this evaluation alone: the scoring of the others
            excluded; None where the work ended before its clock started.
        fields: The columns its record gave; empty unless the outcome is ok.
    """

    outcome: Outcome
    wall_seconds: float | None
    reason: str | None = None
    error: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    predictions: Mapping[str, np.ndarray] | None = None


@dataclass(frozen=True)
class Result:
    """What became of one work: a finding for each of its evaluations, in order.

    Attributes:
        usage: Of the whole work, shared by its findings.
        log_tail: The last 64 KiB that the tree wrote to stdout and stderr.
        enforced: What each limit rested on, as ``{"memory": "cgroup-v1", "cpu": "cpuset", ...}``;
            ``none``: nothing holds it here.
    """

    findings: tuple[Finding, ...]
    usage: Usage
    log_tail: str
    enforced: Mapping[str, str]
