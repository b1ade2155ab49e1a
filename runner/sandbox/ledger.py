"""What became of each evaluation of a work: a pure account of messages and times.

The times are the owner's clock at the arrival of a message. An evaluation's own clock leaves out
what the others spent on scoring, from their checkpoint to their record, so that in a shared fit
each evaluation has the limit that it would have had alone.
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


class Ledger:
    """Takes down what a work reports.

    Args:
        evaluations: How many records are to come, numbered from 0 in the order they come.
        seconds: Limit of each evaluation's own clock.
    """

    def __init__(self, evaluations: int, seconds: float):
        self._evaluations = evaluations
        self._seconds = seconds
        self._start: float | None = None
        self._scored = 0.0
        self._checkpoint: float | None = None
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
        return float("inf") if self._start is None else self._start + self._scored + self._seconds

    def start(self, now: float) -> None:
        """The clock starts.

        Raises:
            MalformedError: It ran already.
        """
        if self.started:
            raise MalformedError("a second start")
        self._start = now

    def checkpoint(self, index: int, now: float) -> None:
        """Evaluation ``index`` begins its scoring.

        Raises:
            MalformedError: It isn't this evaluation's turn.
        """
        self._expect(index)
        if self._checkpoint is not None:
            raise MalformedError(f"a second checkpoint of evaluation {index}")
        self._checkpoint = now

    def record(
        self,
        index: int,
        fields: Mapping[str, Any],
        predictions: Mapping[str, np.ndarray] | None,
        now: float,
    ) -> None:
        """Evaluation ``index`` handed over its results.

        Raises:
            MalformedError: It isn't this evaluation's turn.
        """
        self._expect(index)
        wall = self._own_clock(now)
        if wall > self._seconds:
            finding = Finding("timeout", wall, reason="wall")
        else:
            finding = Finding("ok", wall, fields=dict(fields), predictions=predictions)
        self._findings.append(finding)
        if self._checkpoint is not None:
            self._scored += now - self._checkpoint
            self._checkpoint = None

    def close(self, end: End | None, now: float) -> tuple[Finding, ...]:
        """The findings: those recorded stand, all others share ``end``.

        Where the work returned without all of its records (``end`` is None), they are crashes.
        """
        cause = end or End("crash", "no result")
        wall = 0.0 if self._start is None else self._own_clock(now)
        missing = Finding(cause.outcome, wall, reason=cause.reason, error=cause.error)
        return (*self._findings, *[missing] * (self._evaluations - len(self._findings)))

    def _own_clock(self, now: float) -> float:
        assert self._start is not None
        return now - self._start - self._scored

    def _expect(self, index: int) -> None:
        if not self.started:
            raise MalformedError("a result before the start")
        if self.complete or index != len(self._findings):
            raise MalformedError(f"evaluation {index} where {len(self._findings)} was due")
