"""Ray Tune's view of a run: a searcher whose suggestions are batches, and a listener."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

from ray.tune import Callback
from ray.tune.search import Searcher

from runner.engine.bench import Conditions, Task
from runner.engine.capacity import Node, count_slots
from runner.engine.cluster import ray_nodes
from runner.engine.dispatch import Dispatcher
from runner.engine.interrupt import Halt, Interruption
from runner.engine.job import Observer
from runner.engine.schedule import Entry
from runner.engine.slot import Batch
from runner.engine.vitals import ended_message
from runner.engine.writer import Writer
from runner.errors import CannotRunError

LOOK_SECONDS = 5.0
"""How often the cluster is asked for its nodes."""

UNFIT_SLOTS = 3
"""A run ends when this many times each slot couldn't start, and no record came in between."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclass
class _Flight:
    """A trial's jobs; ``at_work`` once its slot is known to have started."""

    batch: Batch
    entries: dict[int, Entry] = field(default_factory=dict)
    at_work: bool = False


class Conductor:
    """What searcher and listener share: which trial has which jobs.

    Args:
        dispatcher: Has the jobs.
        conditions: What is equal for all jobs.
        references: Ray's references to arrays by name, where slots may have to fetch them.
        size: What a slot takes of its node.
        slots: How many slots there are at the start.
        patience: After so many seconds without a node that could hold a slot the run ends.
        dead_part: Names a part of Ray whose end is known to be the end of all nodes.
        observer: Who watches.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        conditions: Conditions,
        references: Mapping[str, Any],
        size: Node,
        slots: int,
        patience: float,
        dead_part: Callable[[], str | None],
        observer: Observer,
    ):
        self._dispatcher = dispatcher
        self._conditions = conditions
        self._references = references
        self._size = size
        self._observer = observer
        self._flights: dict[str, _Flight] = {}
        self._unfit_told: set[str] = set()
        self._unfit_in_a_row = 0
        self._losses: list[int] = []
        self._slots = slots
        self._patience = patience
        self._dead_part = dead_part
        self._looked = time.monotonic()
        self._without = 0.0

    @property
    def in_flight(self) -> bool:
        """Whether any trial has jobs."""
        return bool(self._flights)

    def next_batch(self, trial: str) -> Batch | None:
        """A batch for this trial; None if no slot is free or no job is waiting."""
        # A trial without a node waits with its jobs, so one is let out even when none is known.
        if len(self._flights) >= max(self._slots, 1):
            return None
        entries = self._dispatcher.next_batch(max(self._slots, 1))
        if not entries:
            return None
        tasks = [Task.of(entry) for entry in entries]
        needed = {task.arrays for task in tasks if task.arrays is not None}
        batch = Batch(
            self._conditions,
            tasks,
            self._dispatcher.predicted_seconds(entries),
            {name: self._references[name] for name in needed if name in self._references},
        )
        self._flights[trial] = _Flight(batch, {entry.number: entry for entry in entries})
        return batch

    def take_result(self, trial: str, result: dict[str, Any]) -> None:
        """Take the records out of a trial's result, which Tune keeps."""
        message, unfit = result.pop("message", None), result.pop("unfit", None)
        if unfit is not None:
            self._take_unfit(unfit)
            return
        flight = self._flights.get(trial)
        if flight is not None:
            flight.at_work = True
        if message is None:
            return
        self._unfit_in_a_row = 0
        for number in self._dispatcher.finished(message):
            if flight is not None:
                flight.entries.pop(number, None)

    def end(self, trial: str, lost: bool) -> None:
        """A trial is over; what it hasn't done waits again."""
        flight = self._flights.pop(trial, None)
        if flight is None:
            return
        flight.batch.clear()
        unfinished = list(flight.entries.values())
        if not lost:
            self._dispatcher.give_back(unfinished)
            return
        self._losses.append(len(unfinished))
        self._dispatcher.lose(unfinished, "the process that ran it died")

    def look(self) -> None:
        """See now and then what was lost, and how many slots there are: nodes come and go.

        Raises:
            CannotRunError: There has been none for a while.
        """
        if dead := self._dead_part():
            raise CannotRunError(ended_message(dead))
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return
        self.tell_losses()
        slots = count_slots(ray_nodes(), self._size)
        self._without = 0.0 if slots else self._without + now - self._looked
        self._looked = now
        if slots != self._slots:
            self._observer.message(f"{slots} slots now, {self._slots} before")
            self._slots = slots
        if not slots and self._without > self._patience:
            raise CannotRunError("the nodes that could hold a sandbox are gone")

    def tell_progress(self) -> None:
        """Tell how far the run is, also while no job ends."""
        self._dispatcher.tell()

    def tell_losses(self) -> None:
        """Say in one line what was lost since the last time: a node's slots go all at once."""
        if self._losses:
            self._observer.message(
                f"slots lost: {len(self._losses)}, with {sum(self._losses)} unfinished jobs that "
                "are run again"
            )
            self._losses = []

    def _take_unfit(self, reason: str) -> None:
        if reason not in self._unfit_told:
            self._observer.message(f"a slot can't start: {reason}")
            self._unfit_told.add(reason)
        self._unfit_in_a_row += 1
        # As long as any slot works at a job, however long, its records may still come.
        working = any(flight.at_work for flight in self._flights.values())
        if self._unfit_in_a_row >= UNFIT_SLOTS * max(self._slots, 1) and not working:
            raise CannotRunError(f"no slot can start: {reason}")


class BatchSearcher(Searcher):  # type: ignore[misc]
    """Suggests batches until no job is left."""

    def __init__(self, conductor: Conductor):
        super().__init__()
        self._conductor = conductor

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        batch = _straight(self._conductor.next_batch, trial_id)
        if batch is not None:
            return {"batch": batch}
        # A batch in flight may still bring follow-up jobs, or be lost.
        return None if self._conductor.in_flight else str(Searcher.FINISHED)

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        _straight(self._conductor.end, trial_id, error)

    def save(self, checkpoint_path: str) -> None:
        """Nothing to save: the store is what a run resumes from."""

    def restore(self, checkpoint_path: str) -> None:
        """Nothing to restore."""


class Listener(Callback):  # type: ignore[misc]
    """Carries results to the conductor, and looks for a reason to stop at every turn."""

    def __init__(self, conductor: Conductor, writer: Writer, interruption: Interruption):
        self._conductor = conductor
        self._writer = writer
        self._interruption = interruption

    def on_step_begin(self, iteration: int, trials: list[Any], **info: Any) -> None:
        _straight(self._interruption.check)
        _straight(self._writer.check)
        _straight(self._conductor.look)
        _straight(self._conductor.tell_progress)

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        _straight(self._conductor.take_result, trial.trial_id, result)


def _straight(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call, and let an error pass through Tune's own handling of errors."""
    try:
        return call(*args, **kwargs)
    except Exception as error:
        raise Halt(error) from error
