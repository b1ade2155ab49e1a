"""The one thread that writes results, so that nothing else waits for a disk."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import pyarrow as pa

from runner.engine.job import Sink
from runner.engine.rows import attempts_table
from runner.errors import RunnerError

COMMIT_SECONDS = 0.7
"""Least time between two commits: with the half second that a slot collects its records for, a
row is committed within 2 s of its job's end."""

FULL_ROWS = 5000
FULL_BYTES = 64 << 20
"""A commit of this size waits for nothing."""

_Rows = tuple[Sequence[Mapping[str, Any]], pa.Table | None]


class Writer:
    """Commits rows in the order they come, grouped into a commit or so a second.

    Args:
        sink: Where to.
    """

    def __init__(self, sink: Sink):
        self._sink = sink
        # A SimpleQueue's put can be interrupted by a signal's handler without harm.
        self._items: queue.SimpleQueue[_Rows | threading.Event] = queue.SimpleQueue()
        self._end = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="results writer", daemon=True)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._items.put(self._end)
        self._thread.join()
        if error is None or not isinstance(error, Exception):
            self.check()

    def put(self, rows: Sequence[Mapping[str, Any]], predictions: pa.Table | None) -> None:
        """Have these rows of ``attempts`` and their predictions written."""
        self._items.put((rows, predictions))

    def flush(self) -> None:
        """Wait until what has been put so far is committed, or has failed."""
        done = threading.Event()
        self._items.put(done)
        done.wait()

    def check(self) -> None:
        """Raise what writing failed of, if it did.

        Raises:
            RunnerError: The results can't be written.
        """
        if self._failure is None:
            return
        if isinstance(self._failure, RunnerError):
            raise self._failure
        text = " ".join(str(self._failure).split()) or type(self._failure).__name__
        raise RunnerError(f"the results can't be written: {text}") from self._failure

    def _work(self) -> None:
        last = time.monotonic()
        while True:
            group, mark = self._next_group(last + COMMIT_SECONDS)
            last = time.monotonic()
            if group and self._failure is None:
                try:
                    self._commit(group)
                except Exception as error:
                    # Rows after a failure are dropped: their keys are computed at the next run.
                    self._failure = error
            if mark is not None:
                mark.set()
            if mark is self._end:
                return

    def _next_group(self, until: float) -> tuple[list[_Rows], threading.Event | None]:
        """What has come, after a wait for more of it, and the mark behind it if there is one."""
        group: list[_Rows] = []
        rows = size = 0
        item = self._items.get()
        while not isinstance(item, threading.Event):
            group.append(item)
            rows += len(item[0])
            size += 0 if item[1] is None else item[1].nbytes
            left = until - time.monotonic()
            if left <= 0 or rows >= FULL_ROWS or size >= FULL_BYTES:
                return group, None
            try:
                item = self._items.get(timeout=left)
            except queue.Empty:
                return group, None
        return group, item

    def _commit(self, group: Sequence[_Rows]) -> None:
        rows = [row for item in group for row in item[0]]
        predictions = [item[1] for item in group if item[1] is not None]
        self._sink(attempts_table(rows), pa.concat_tables(predictions) if predictions else None)
