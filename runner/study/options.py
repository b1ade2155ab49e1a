"""How a study is to be run, what that would do, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """How a study is to be run.

    Attributes:
        results: The store's folder.
        command: What was typed, for the ``runs`` table.
        address: ``local``, ``auto`` or ``host:port``.
        rerun: Outcomes whose rows are computed again.
        fit_sandbox: Shrink a sandbox that no node can hold.
        accept_versions: Let rows serve that other versions made.
    """

    results: Path
    command: str
    address: str = "local"
    rerun: frozenset[str] = frozenset()
    fit_sandbox: bool = False
    accept_versions: bool = False


@dataclass(frozen=True)
class Outlook:
    """What a run would do.

    Attributes:
        planned: Evaluations, with those that follow from others.
        reused: Those of them that the store serves.
        jobs: Jobs that can start at once; others may follow.
        slot_seconds: The jobs' predicted cost by system.
        slots: Sandboxes at once.
    """

    planned: int
    reused: int
    jobs: int
    slot_seconds: Mapping[str, float]
    slots: int


@dataclass(frozen=True)
class StudySummary:
    """How a run ended.

    Attributes:
        planned: Evaluations wanted.
        reused: Those that the store served.
        computed: Those that this run computed.
        outcomes: All of them by outcome.
        interrupted: Whether it was stopped before its end.
    """

    planned: int
    reused: int
    computed: int
    outcomes: Mapping[str, int]
    interrupted: bool
