"""What a study hands the engine: jobs, where they come from, and what to run them in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from runner.engine.quiet import PATIENCE_SECONDS
from runner.sandbox import Limits


@dataclass(frozen=True)
class Evaluation:
    """One evaluation to be computed.

    Attributes:
        key: Its key in the store.
        attempt: The number its first attempt gets; a lost trial's next one counts on from it.
        columns: The columns of its row that are known beforehand (stage, task, system, ...).
    """

    key: str
    columns: Mapping[str, Any]
    attempt: int = 1


@dataclass(frozen=True)
class Job:
    """Evaluations that share one fit and run together in one sandbox.

    Attributes:
        evaluations: In the order in which the work reports them.
        arrays: The name of the arrays it reads, in ``Settings.arrays``; None for none.
        argument: What the work's function gets, pickled.
        cost: Predicted seconds.
    """

    evaluations: tuple[Evaluation, ...]
    argument: bytes
    cost: float
    arrays: str | None = None


class Source(Protocol):
    """Where jobs come from. Called in the driver, from one thread."""

    def initial(self) -> Sequence[Job]:
        """The jobs that can run from the start."""

    def follow_up(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Job]:
        """The jobs that these finished rows (of ``attempts``) make possible, such as a refit."""


@dataclass(frozen=True)
class Settings:
    """How the jobs of one run are computed.

    Attributes:
        function: ``package.module:name`` of what a job runs in its sandbox.
        warm_up: ``package.module:name`` called with the argument before the clock; None for none.
        preload: Modules that the zygote imports before it forks, and functions
            (``module:function``) that it calls.
        limits: Of one evaluation.
        threads: What a fit may use of the slot's cores.
        arrays: Arrays by name, made available on every node.
        columns: Columns equal in all rows of the run: run_id, study, timing.
        address: ``local``, ``auto`` or ``host:port`` of a Ray cluster.
        exclusive: Whether a job has a node to itself, and waits until it is quiet.
        quiet_seconds: How long it waits at most.
        fitted: Whether the limits were shrunk to what the nodes hold; every row says so.
    """

    function: str
    limits: Limits
    columns: Mapping[str, Any]
    warm_up: str | None = None
    preload: tuple[str, ...] = ()
    threads: int = 1
    arrays: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    address: str = "local"
    exclusive: bool = False
    quiet_seconds: float = PATIENCE_SECONDS
    fitted: bool = False


class Observer(Protocol):
    """Who watches a run; called in the driver."""

    def progress(self, done: int, total: int, seconds_left: float | None) -> None:
        """``done`` of ``total`` evaluations are finished; the rest is predicted to take so long."""

    def message(self, text: str) -> None:
        """Something a person should know now, such as a node that was lost."""


Sink = Callable[[pa.Table, pa.Table | None], None]
"""Takes finished rows (``attempts``) and their predictions, and returns once both are committed."""


@dataclass(frozen=True)
class Summary:
    """How a run ended: evaluations by outcome, whether it was interrupted, and start-up cost."""

    outcomes: Mapping[str, int]
    interrupted: bool
    slots: int
    seconds: float
    startup_seconds: float
