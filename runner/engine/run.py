"""A run from its first job to its last, on Ray or in this process."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from runner.engine.bench import Bench, Conditions, Task
from runner.engine.capacity import Capacity, Node, fitted
from runner.engine.cluster import joined_cluster, ray_nodes
from runner.engine.dispatch import Dispatcher
from runner.engine.environment import close_to_others, own_sigterm, prepare, quiet
from runner.engine.interrupt import Halt, Interruption
from runner.engine.janitor import driver_folder, sweep_node
from runner.engine.job import Observer, Settings, Sink, Source, Summary
from runner.engine.local import local_node, local_ray
from runner.engine.node_arrays import NodeArrays
from runner.engine.records import encode
from runner.engine.vitals import Vitals, ended_message
from runner.engine.writer import Writer
from runner.errors import CannotRunError
from runner.sandbox import Limits

RETURN_SECONDS = 60.0
"""How long a run waits for a cluster's nodes to come back when all are gone; its own Ray's one
node never does."""


def capacity(
    address: str, limits: Limits, *, fit: bool = False, exclusive: bool = False
) -> Capacity:
    """How many sandboxes of this size run at once.

    Args:
        address: ``local``, ``auto`` or ``host:port`` of a Ray cluster.
        limits: The size asked for.
        fit: Whether a sandbox that no node can hold is shrunk.
        exclusive: Whether each has a node to itself.

    Raises:
        CannotRunError: No node can hold one; the message says what would fit.
        InputError: The address can't be reached.
    """
    if address == "local":
        return fitted(limits, [local_node()], shrink=fit, exclusive=exclusive)
    prepare()
    with joined_cluster(address):
        return fitted(limits, ray_nodes(), shrink=fit, exclusive=exclusive)


def run(
    settings: Settings, source: Source, sink: Sink, observer: Observer, *, confined: bool = True
) -> Summary:
    """Run a source's jobs on Ray until there are none left.

    SIGINT and SIGTERM stop it: what is done is written, and the summary says so.

    Args:
        settings: How jobs are computed.
        source: Where they come from.
        sink: Where rows go.
        observer: Who watches.
        confined: False runs jobs in the slots' own processes, without limits or kills: what the
            engine alone costs can be measured so.

    Raises:
        CannotRunError: No node can hold a sandbox.
        InputError: The address can't be reached.
        RunnerError: The results can't be written.
    """
    prepare()
    with _started(settings, source, sink, observer) as progress:
        if progress.dispatcher.unfinished:
            if settings.address == "local":
                close_to_others()
            sweep_node()
            progress.interruption.at_once(True)
            with quiet(), own_sigterm(), _connected(settings) as vitals:
                progress.interruption.insist()
                progress.interruption.at_once(False)
                try:
                    _spread(settings, progress, observer, confined, vitals)
                finally:
                    # While Ray ends it lets a second SIGTERM kill this process.
                    progress.writer.flush()
            progress.interruption.insist()
    return progress.summary()


def run_in_process(settings: Settings, source: Source, sink: Sink, observer: Observer) -> Summary:
    """Like `run`, in this very process and without limits: where a debugger can follow it."""
    with _started(settings, source, sink, observer) as progress:
        bench = Bench(_conditions(settings, confined=False), settings.arrays.__getitem__)
        progress.startup_seconds = time.monotonic() - progress.started
        try:
            while batch := progress.dispatcher.next_batch(1):
                for entry in batch:
                    progress.interruption.check()
                    progress.writer.check()
                    progress.dispatcher.finished(encode([bench.run(Task.of(entry))]))
        finally:
            bench.close()
    return progress.summary()


@dataclasses.dataclass
class _Progress:
    """A run under way."""

    dispatcher: Dispatcher
    writer: Writer
    interruption: Interruption
    started: float
    slots: int = 1
    startup_seconds: float = 0.0

    def summary(self) -> Summary:
        return Summary(
            outcomes=dict(self.dispatcher.outcomes),
            interrupted=self.dispatcher.unfinished > 0,
            slots=self.slots,
            seconds=time.monotonic() - self.started,
            startup_seconds=self.startup_seconds,
        )


@contextmanager
def _started(
    settings: Settings, source: Source, sink: Sink, observer: Observer
) -> Iterator[_Progress]:
    """A run whose first jobs are known; at the end all rows are written."""
    started = time.monotonic()
    with Interruption() as interruption, Writer(sink) as writer:
        dispatcher = Dispatcher(settings, source, writer, observer)
        dispatcher.start()
        try:
            yield _Progress(dispatcher, writer, interruption, started)
        except Halt as halt:
            if halt.error is not None:
                raise halt.error from halt.error.__cause__


def _connected(settings: Settings) -> AbstractContextManager[Vitals | None]:
    if settings.address == "local":
        arrays = (array for group in settings.arrays.values() for array in group.values())
        return local_ray(sum(array.nbytes for array in arrays))
    return joined_cluster(settings.address)


def _conditions(settings: Settings, *, confined: bool) -> Conditions:
    return Conditions(
        run=uuid.uuid4().hex,
        function=settings.function,
        warm_up=settings.warm_up,
        preload=settings.preload,
        limits=settings.limits,
        threads=settings.threads,
        paths=tuple(os.path.abspath(folder) for folder in sys.path),
        confined=confined,
        exclusive=settings.exclusive,
        quiet_seconds=settings.quiet_seconds,
    )


def _spread(
    settings: Settings,
    progress: _Progress,
    observer: Observer,
    confined: bool,
    vitals: Vitals | None,
) -> None:
    """Let Tune run the jobs on the Ray that this process is connected to.

    Args:
        vitals: The processes of this run's own Ray; None on a cluster.
    """
    from ray import tune

    from runner.engine.searcher import BatchSearcher, Conductor, Listener
    from runner.engine.slot import Slot

    own = vitals is not None
    if vitals is not None:
        vitals.say_when_stuck(lambda name: _leave(name, progress.writer, observer))
    nodes: list[Node] = [local_node()] if own else ray_nodes()
    room = fitted(settings.limits, nodes, shrink=False, exclusive=settings.exclusive)
    progress.slots = room.slots
    # Otherwise actors would start one after the other.
    os.environ["TUNE_MAX_PENDING_TRIALS_PG"] = str(progress.slots)
    conditions = _conditions(settings, confined=confined)
    files = NodeArrays(conditions.run)
    conductor = Conductor(
        progress.dispatcher,
        conditions,
        _placed(settings, files if own and confined else None),
        room.size,
        progress.slots,
        0.0 if own else RETURN_SECONDS,
        lambda: vitals.dead if vitals is not None else None,
        observer,
    )
    # Tune writes some files a trial, which nobody reads.
    folder = driver_folder()
    progress.startup_seconds = time.monotonic() - progress.started
    try:
        # The older entry of the two: the newer one, Tuner, pickles searcher and callbacks.
        tune.run(
            Slot,
            resources_per_trial={"cpu": room.size.cores, "memory": room.size.memory},
            search_alg=BatchSearcher(conductor),
            num_samples=-1,
            reuse_actors=True,
            max_failures=0,
            raise_on_failed_trial=False,
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
            callbacks=[Listener(conductor, progress.writer, progress.interruption)],
            storage_path=str(folder.path),
            verbose=0,
        )
    finally:
        conductor.tell_losses()
        folder.release()
        files.close()


def _placed(settings: Settings, files: NodeArrays | None) -> Mapping[str, Any]:
    """Put the arrays where slots find them: references to those in Ray's store.

    Args:
        files: Where to put them on this node, the only one; None for Ray's store. What this process
            has there would be lost with a node that ends, and Ray would end it with status 1.
    """
    import ray

    if files is None:
        return {name: ray.put(dict(group)) for name, group in settings.arrays.items()}
    for name, group in settings.arrays.items():
        files.folder(name, partial(dict, group))
    return {}


def _leave(name: str, writer: Writer, observer: Observer) -> None:
    """End this process, whose main thread waits within Ray for a part of it that has ended."""
    writer.flush()
    observer.message(f"error: {ended_message(name)}")
    os._exit(CannotRunError.exit_status)
