"""Which job goes to which slot next: batches of predicted cost, and a second chance for the lost.

Plain data and arithmetic; the machinery that moves batches is elsewhere.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from runner.engine.job import Job

MAX_LOSSES = 3
"""A job whose process died this often isn't tried again."""

SUSPECTS = 50
"""How many of a lost batch's unfinished jobs may have been what it died of. Finished ones reach
the driver half a second late, so it needn't be the very first; and to run so many alone costs
less than one more dead process."""

BATCHES_AHEAD = 2.0
"""A batch is the slot's share of the work left, divided by this (factoring)."""

BATCH_SECONDS = 1.0
SLOTS_FOR_LONGER_BATCHES = 10
"""Tune starts about 25 trials a second, whatever the number of slots: with many slots the least
batch is longer."""

LEAST_BATCH_SECONDS = 0.25
"""Below this a batch costs more than the few idle slots at the end of a run."""

MAX_BATCH_JOBS = 1000

LEAST_COST = 0.005
"""Seconds that a job takes at least, whatever was predicted: a fork and its records."""

_FORGETTING = 0.98


@dataclass(frozen=True)
class Entry:
    """A job on its way.

    Attributes:
        number: Its name between driver and slots.
        losses: How often the process that ran it died, or its sandbox failed.
    """

    number: int
    job: Job
    losses: int = 0

    @property
    def cost(self) -> float:
        """Predicted seconds of a slot."""
        return max(self.job.cost, LEAST_COST)


class Pool:
    """The jobs of a run that aren't finished: waiting, or out in a batch."""

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._waiting: list[tuple[float, int]] = []
        self._suspects: list[tuple[float, int]] = []
        self._waiting_cost = 0.0
        self._cost = 0.0
        self._numbers = 0
        self._ratio = _Ratio()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def waiting(self) -> bool:
        """Whether there is a job to hand out."""
        return bool(self._waiting or self._suspects)

    @property
    def ratio(self) -> float:
        """Measured over predicted seconds of the jobs finished lately."""
        return self._ratio.value

    def seconds_left(self, slots: int) -> float:
        """Predicted seconds until all jobs known now are finished."""
        return self._cost * self.ratio / max(slots, 1)

    def add(self, jobs: Iterable[Job]) -> None:
        """Take in new jobs."""
        for job in jobs:
            self._numbers += 1
            entry = Entry(self._numbers, job)
            self._entries[entry.number] = entry
            self._cost += entry.cost
            self._wait(entry)

    def take(self, slots: int) -> list[Entry]:
        """The next batch, dearest job first; empty if no job is waiting.

        Args:
            slots: How many slots share the work.
        """
        if self._suspects:
            # Alone, so that if it is lost again nothing else is.
            return [self._entries[heapq.heappop(self._suspects)[1]]]
        target = batch_seconds(self._waiting_cost * self.ratio, slots)
        batch: list[Entry] = []
        filled = 0.0
        while self._waiting and filled < target and len(batch) < MAX_BATCH_JOBS:
            entry = self._entries[heapq.heappop(self._waiting)[1]]
            self._waiting_cost -= entry.cost
            filled += entry.cost * self.ratio
            batch.append(entry)
        return batch

    def find(self, number: int) -> Entry | None:
        """The job of this number; None if it is finished already."""
        return self._entries.get(number)

    def finish(self, entry: Entry, seconds: float) -> None:
        """The job is done.

        Args:
            entry: The job.
            seconds: What it took of a slot's time.
        """
        self._cost -= entry.cost
        self._ratio.learn(seconds, entry.cost)
        del self._entries[entry.number]

    def give_back(self, entries: Iterable[Entry]) -> None:
        """Let these jobs wait again: their batch ended before their turn came."""
        for entry in entries:
            self._wait(entry)

    def lose(self, entry: Entry) -> bool:
        """Let a job wait again that was lost; False if that was once too often.

        The job is still the pool's then, until ``finish``.
        """
        entry = replace(entry, losses=entry.losses + 1)
        self._entries[entry.number] = entry
        if entry.losses >= MAX_LOSSES:
            return False
        heapq.heappush(self._suspects, (-entry.cost, entry.number))
        return True

    def lose_batch(self, unfinished: Sequence[Entry]) -> list[Entry]:
        """Take back what was left of a batch whose process died.

        Only the first few can have been running: the others wait as if nothing had happened.

        Args:
            unfinished: In the order in which the batch ran.

        Returns:
            The jobs that were lost once too often.
        """
        self.give_back(unfinished[SUSPECTS:])
        return [entry for entry in unfinished[:SUSPECTS] if not self.lose(entry)]

    def _wait(self, entry: Entry) -> None:
        if entry.losses:
            heapq.heappush(self._suspects, (-entry.cost, entry.number))
            return
        heapq.heappush(self._waiting, (-entry.cost, entry.number))
        self._waiting_cost += entry.cost


def batch_seconds(waiting: float, slots: int) -> float:
    """How long the next batch should take.

    Long while there is much to do, so that there are about eight batches a slot in all; then no
    longer than a slot's share of what waits, so that all slots end together.

    Args:
        waiting: Predicted slot seconds of the jobs that wait.
        slots: How many slots share them.
    """
    share = waiting / max(slots, 1)
    least = BATCH_SECONDS * max(1.0, slots / SLOTS_FOR_LONGER_BATCHES)
    return max(share / BATCHES_AHEAD, min(least, max(share, LEAST_BATCH_SECONDS)))


class _Ratio:
    """Measured over predicted seconds; the past fades, since dear jobs come first."""

    def __init__(self) -> None:
        # One predicted second that came true: a single odd job moves little.
        self._measured = 1.0
        self._predicted = 1.0

    @property
    def value(self) -> float:
        return self._measured / self._predicted

    def learn(self, measured: float, predicted: float) -> None:
        self._measured = self._measured * _FORGETTING + measured
        self._predicted = self._predicted * _FORGETTING + predicted
