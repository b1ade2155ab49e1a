"""What became of each evaluation of a work: a pure account of messages and times.

The times are the owner's clocks at the arrival of a message. An evaluation's own clocks leave out
what the others spent on scoring, from their checkpoint to their record, and what a shared fit
spent on models that aren't theirs, so that each evaluation has the limit that it would have had
alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from runner.sandbox.contract import Finding, Outcome


class MalformedError(Exception):
    """A message that no report of ours sends."""


@dataclass(frozen=True)
class End:
    """Why a work ended before all of its evaluations were recorded."""

    outcome: Outcome
    reason: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class Reading:
    """Two clocks at one moment: the owner's, and what the tree has used of processors; seconds."""

    wall: float
    cpu: float = 0.0

    def __add__(self, other: Reading) -> Reading:
        return Reading(self.wall + other.wall, self.cpu + other.cpu)

    def __sub__(self, other: Reading) -> Reading:
        return Reading(self.wall - other.wall, self.cpu - other.cpu)


class Ledger:
    """Takes down what a work reports.

    Args:
        evaluations: How many records are to come, numbered from 0 in the order they come.
        limits: Of each evaluation's own clocks.
        trusted: Whether the work's word is taken for what it spent on others' models.
    """

    def __init__(self, evaluations: int, limits: Reading, *, trusted: bool = True):
        self._evaluations = evaluations
        self._limits = limits
        self._trusted = trusted
        self._start: Reading | None = None
        self._scored = Reading(0.0)
        self._spared = Reading(0.0)
        self._checkpoint: Reading | None = None
        self._findings: list[Finding] = []

    @property
    def started(self) -> bool:
        return self._start is not None

    @property
    def complete(self) -> bool:
        return len(self._findings) == self._evaluations

    @property
    def deadline(self) -> float:
        """When the evaluation that runs now has used up its own clock; infinity before a start."""
        if self._start is None:
            return float("inf")
        return (self._start + self._scored + self._spared + self._limits).wall

    def cpu_left(self, now: Reading) -> float:
        """What the evaluation that runs now may still use of processors, in seconds."""
        return self._limits.cpu - self._own_clocks(now).cpu

    def start(self, now: Reading) -> None:
        """The clock starts.

        Raises:
            MalformedError: It ran already.
        """
        if self.started:
            raise MalformedError("a second start")
        self._start = now

    def checkpoint(self, index: int, now: Reading) -> None:
        """Evaluation ``index`` begins its scoring.

        Raises:
            MalformedError: It isn't this evaluation's turn.
        """
        self._expect(index)
        if self._checkpoint is not None:
            raise MalformedError(f"a second checkpoint of evaluation {index}")
        self._checkpoint = now

    def spare(self, seconds: float, now: Reading) -> None:
        """So much of the clock, scoring aside, isn't the evaluation's that is due.

        Raises:
            MalformedError: It is more than has passed, or the work isn't trusted.
        """
        if not self._trusted or self._start is None:
            raise MalformedError("time to be spared, which isn't granted")
        passed = now - self._start - self._scored
        if not 0 <= seconds <= passed.wall:
            raise MalformedError("more time to be spared than has passed")
        share = seconds / passed.wall if passed.wall > 0 else 0.0
        self._spared = Reading(seconds, passed.cpu * share)

    def record(
        self,
        index: int,
        fields: Mapping[str, Any],
        predictions: Mapping[str, np.ndarray] | None,
        now: Reading,
    ) -> None:
        """Evaluation ``index`` handed over its results.

        Raises:
            MalformedError: It isn't this evaluation's turn.
        """
        self._expect(index)
        own = self._own_clocks(now)
        if own.wall > self._limits.wall:
            finding = Finding("timeout", own.wall, reason="wall")
        elif own.cpu > self._limits.cpu:
            finding = Finding("timeout", own.wall, reason="cpu")
        else:
            finding = Finding("ok", own.wall, fields=dict(fields), predictions=predictions)
        self._findings.append(finding)
        if self._checkpoint is not None:
            self._scored = self._scored + (now - self._checkpoint)
            self._checkpoint = None

    def close(self, end: End | None, now: Reading) -> tuple[Finding, ...]:
        """The findings: those recorded stand, all others share ``end``.

        Where the work returned without all of its records (``end`` is None), they are crashes.
        """
        cause = end or End("crash", "no result")
        wall = None if self._start is None else self._own_clocks(now).wall
        missing = Finding(cause.outcome, wall, reason=cause.reason, error=cause.error)
        return (*self._findings, *[missing] * (self._evaluations - len(self._findings)))

    def _own_clocks(self, now: Reading) -> Reading:
        assert self._start is not None
        return now - self._start - self._scored - self._spared

    def _expect(self, index: int) -> None:
        if not self.started:
            raise MalformedError("a result before the start")
        if self.complete or index != len(self._findings):
            raise MalformedError(f"evaluation {index} where {len(self._findings)} was due")
