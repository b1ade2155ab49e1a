"""What a study of any kind says of itself, so that it can be run as all others are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa

from runner.config import Sandbox
from runner.engine import Job, Source
from runner.store import Store, Wanted
from runner.study.served import Served


class StudyFile(Protocol):
    """What the files of all kinds of study say."""

    @property
    def name(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def path(self) -> Path | None: ...

    @property
    def sandbox(self) -> Sandbox: ...

    @property
    def timing(self) -> str: ...

    @property
    def predictions(self) -> bool: ...


class StudySource(Source, Protocol):
    """Where a study's jobs come from.

    Attributes:
        jobs: Those that can run from the start.
        final: Outcome by key of everything that is known, served or computed.
        later: The keys that came to be wanted after the start, such as those of refits.
    """

    final: dict[str, str]

    @property
    def jobs(self) -> Sequence[Job]: ...

    @property
    def later(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class Workload:
    """What a study's jobs run, and on what; as ``engine.Settings`` has it."""

    function: str
    preload: tuple[str, ...]
    warm_up: str | None = None
    threads: int = 1
    arrays: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)


MadeJobs = TypeVar("MadeJobs", bound=StudySource, covariant=True)


class Subject(Protocol[MadeJobs]):
    """A study of one kind, with its tasks loaded and the cores of a sandbox settled."""

    @property
    def planned(self) -> int:
        """How many evaluations it wants, with those that follow from others."""

    @property
    def keys(self) -> Sequence[str]:
        """Those of all evaluations that may come to be wanted, each once."""

    def versions(self, system: str) -> Mapping[str, str | int]:
        """What a system's numbers rest on, on any task."""

    def notes(self) -> Sequence[str]:
        """What a person should know before the run starts."""

    def wanted(self, stored: Callable[[str], str]) -> tuple[Wanted, ...]:
        """What it wants from the start, under the keys where it is stored."""

    def setting(self) -> str:
        """What it is about, for reports."""

    def source(
        self, served: Mapping[str, Served], attempts: Mapping[str, int], store: Store
    ) -> MadeJobs:
        """Its jobs, minus what the store serves."""

    def workload(self, jobs: Sequence[Job]) -> Workload:
        """What these jobs run."""

    def kept(self, predictions: pa.Table) -> pa.Table:
        """Predictions as they go to the store."""
