"""The driver's side of a run: what is to do, what is done, and what follows from it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from runner.engine.job import Observer, Settings, Source
from runner.engine.records import Message, decode_predictions, decode_rows
from runner.engine.rows import attempt_row, predictions_table
from runner.engine.schedule import Entry, Pool
from runner.engine.writer import Writer

PROGRESS_SECONDS = 0.3

_INFRA = "infra"


class Dispatcher:
    """Hands out batches, turns records into rows for the writer, and asks for follow-up jobs.

    Args:
        settings: The run's.
        source: Where jobs come from.
        writer: Where rows go.
        observer: Who watches.
    """

    def __init__(self, settings: Settings, source: Source, writer: Writer, observer: Observer):
        self._settings = settings
        self._source = source
        self._writer = writer
        self._observer = observer
        self._pool = Pool()
        self._written: set[str] = set()
        self._total = 0
        self._slots = 1
        self._told = float("-inf")
        self.outcomes: Counter[str] = Counter()

    @property
    def unfinished(self) -> int:
        """Jobs that are waiting or running."""
        return len(self._pool)

    def start(self) -> None:
        """Take in the jobs that can run from the start."""
        self._add(self._source.initial())
        self.tell()

    def next_batch(self, slots: int) -> list[Entry]:
        """The next jobs for a slot; empty if none is waiting."""
        self._slots = slots
        return self._pool.take(slots)

    def predicted_seconds(self, batch: Sequence[Entry]) -> float:
        """What a batch should take, by what jobs took so far."""
        return sum(entry.cost for entry in batch) * self._pool.ratio

    def finished(self, message: Message) -> set[int]:
        """Take in records of finished jobs.

        Returns:
            Their numbers.
        """
        jobs: dict[int, list[dict[str, Any]]] = {}
        for row in decode_rows(message):
            jobs.setdefault(row["number"], []).append(row)
        rows: list[dict[str, Any]] = []
        keys: dict[tuple[int, int], str] = {}
        for number, found in jobs.items():
            entry = self._pool.find(number)
            # What ran twice, because its first result was late, is taken once.
            if entry is None:
                continue
            for row in self._settle(entry, found):
                keys[number, row["index"]] = entry.job.evaluations[row["index"]].key
                rows.append(attempt_row(entry, row["index"], self._settings, row))
        predictions = decode_predictions(message)
        self._deliver(rows, None if predictions is None else predictions_table(predictions, keys))
        return set(jobs)

    def give_back(self, entries: Iterable[Entry]) -> None:
        """Let jobs wait again whose turn didn't come."""
        self._pool.give_back(entries)

    def lose(self, unfinished: Sequence[Entry], error: str) -> None:
        """Take back what was left of a batch whose process died; give up what died too often.

        Args:
            unfinished: In the order in which the batch ran.
            error: What is known of the death.
        """
        found = {"outcome": _INFRA, "reason": "lost", "error": error}
        rows: list[dict[str, Any]] = []
        for entry in self._pool.lose_batch(unfinished):
            self._pool.finish(entry, entry.cost)
            for index in self._missing(entry):
                rows.append(attempt_row(entry, index, self._settings, found))
        self._deliver(rows, None)

    def tell(self) -> None:
        """Tell the observer how far the run is, unless it was told just now."""
        now = time.monotonic()
        if now - self._told < PROGRESS_SECONDS and self._pool:
            return
        self._told = now
        left = self._pool.seconds_left(self._slots)
        self._observer.progress(len(self._written), self._total, left)

    def _settle(self, entry: Entry, found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Finish a job, or let it wait again where its sandbox failed; what of it is final and new.

        Where the sandbox failed after some evaluations, those are kept, and the next time the
        others.
        """
        failed = any(row["outcome"] == _INFRA for row in found)
        again = failed and self._pool.lose(entry)
        if not again:
            self._pool.finish(entry, found[0]["slot_seconds"])
        missing = self._missing(entry)
        final = [row for row in found if row["index"] in missing]
        return [row for row in final if row["outcome"] != _INFRA] if again else final

    def _missing(self, entry: Entry) -> set[int]:
        """The indices of a job's evaluations that have no row yet."""
        evaluations = enumerate(entry.job.evaluations)
        return {index for index, e in evaluations if e.key not in self._written}

    def _deliver(self, rows: Sequence[Mapping[str, Any]], predictions: pa.Table | None) -> None:
        if rows:
            self._written.update(row["key"] for row in rows)
            self.outcomes.update(row["outcome"] for row in rows)
            self._writer.put(rows, predictions)
            self._add(self._source.follow_up(rows))
        self.tell()

    def _add(self, jobs: Iterable[Any]) -> None:
        jobs = list(jobs)
        self._total += sum(len(job.evaluations) for job in jobs)
        self._pool.add(jobs)
