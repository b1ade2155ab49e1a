"""What the store holds for a plan, and what versions alone keep from serving."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from runner.sandbox import Limits
from runner.store import Stale, Store
from runner.study.options import Options


@dataclass(frozen=True)
class Served:
    """What the store holds for a planned evaluation.

    Attributes:
        key: The key it is stored under: the planned one, or one made with other versions.
    """

    key: str
    outcome: str
    score: float | None


def find_served(
    store: Store, keys: Sequence[str], limits: Limits, options: Options, *, predictions: bool
) -> tuple[dict[str, Served], Mapping[str, int], tuple[Stale, ...]]:
    """What serves by planned key, the next attempt's number by key, and what would have served.

    Args:
        store: Where rows are.
        keys: Those planned, each once.
        limits: Of one evaluation, in force now.
        options: Say which rows are computed again.
        predictions: Whether a row serves only with its predictions.
    """
    reuse = store.served(
        keys,
        seconds=limits.seconds,
        memory_mib=limits.memory_mib,
        cpu_seconds=limits.cpu_seconds,
        processes=limits.processes,
        file_bytes=limits.file_size,
        rerun=options.rerun,
        accept_versions=options.accept_versions,
        predictions=predictions,
    )
    served = {
        planned: Served(stored, reuse.outcomes[planned], reuse.scores[planned])
        for planned, stored in reuse.served.items()
    }
    return served, reuse.attempts, reuse.stale


def stored_key(served: Mapping[str, Served], key: str) -> str:
    """The key under which a planned evaluation's row is, or will be."""
    known = served.get(key)
    return known.key if known else key


def version_notes(
    stale: Sequence[Stale], versions: Callable[[str], Mapping[str, str | int]]
) -> list[str]:
    """What to say of rows that were made with other versions.

    Args:
        stale: Those rows.
        versions: Gives today's versions of what a system's numbers rest on.
    """
    return [
        f"{one.rows} rows of {one.system} were made with {_differing(one, versions(one.system))}: "
        "computing them again; --accept-versions keeps them"
        for one in stale
    ]


def _differing(stale: Stale, now: Mapping[str, str | int]) -> str:
    made = json.loads(stale.versions or "{}")
    others = [f"{n} {made[n]}" for n, version in now.items() if made.get(n, version) != version]
    return ", ".join(others) or "other versions"
