"""The sandbox's interface without a sandbox: no limits, no other process, for debugging."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import numpy as np

from runner.sandbox.contract import Limits, Result, Usage, Work
from runner.sandbox.ledger import End, Ledger, Reading
from runner.sandbox.means import Means
from runner.sandbox.task import Task, array_files, failure
from runner.sandbox.wire import plain_arrays, plain_fields


class InProcess:
    """Runs works in this very process, where a debugger can follow them; enforces nothing."""

    enforced: Mapping[str, str] = dict.fromkeys(Means().enforced(), "none")

    def __enter__(self) -> InProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Nothing to start; here for the sandbox's sake."""

    def close(self) -> None:
        """Nothing to end; here for the sandbox's sake."""

    def run(self, work: Work, limits: Limits) -> Result:
        """Call the work's function; ``limits`` are not enforced.

        An exception of the function becomes outcome ``error``; KeyboardInterrupt goes through.
        """
        ledger = Ledger(work.evaluations, Reading(float("inf"), float("inf")))
        start = time.monotonic()
        end: End | None = None
        trace = ""
        try:
            task = Task.load(work, _arrays(work))
            start = time.monotonic()
            ledger.start(Reading(start))
            task.function(task.arrays, task.argument, _Report(ledger))
        except Exception as error:
            end, trace = failure(error), traceback.format_exc()
        now = time.monotonic()
        return Result(
            findings=ledger.close(end, Reading(now)),
            usage=Usage(wall_seconds=now - start if ledger.started else 0.0),
            log_tail=trace,
            enforced=self.enforced,
        )


def _arrays(work: Work) -> dict[str, np.ndarray]:
    files = {} if work.arrays is None else array_files(Path(work.arrays))
    return {name: np.load(file, mmap_mode="r") for name, file in files.items()}


class _Report:
    """Writes straight into the ledger."""

    def __init__(self, ledger: Ledger):
        self._ledger = ledger

    def checkpoint(self, index: int) -> None:
        self._ledger.checkpoint(index, Reading(time.monotonic()))

    def spare(self, seconds: float) -> None:
        self._ledger.spare(float(seconds), Reading(time.monotonic()))

    def record(
        self,
        index: int,
        fields: Mapping[str, float | int | str | None],
        predictions: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        # The same conversions as on the way out of a sandbox: what fails there fails here.
        arrays = None if predictions is None else plain_arrays(predictions)
        now = Reading(time.monotonic())
        self._ledger.record(index, plain_fields(fields), arrays, now)
