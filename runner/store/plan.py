"""What a run wants, and how the ``runs`` table says it (docs/results.md, column ``plan``)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Wanted:
    """The evaluations that a run wants of one system on one task.

    Attributes:
        folds: Folds in which each configuration is scored.
        repeats: How often each of them.
        keys: The keys in the store under which its evaluations (of stage cv) are found; where a
            row made with other versions serves, that row's key. By repeat, configuration, fold.
        configuration_ids: The number that each configuration has in this run: a row made for a
            study whose own system had another grid may hold another.
        refits: How many of its configurations, once selected, are wanted on the test rows, each
            as often as ``repeats``.
    """

    task: str
    system: str
    folds: int
    keys: tuple[str, ...]
    repeats: int = 1
    configuration_ids: tuple[int, ...] = ()
    refits: int = 1


@dataclass(frozen=True)
class Group:
    """The same without its keys, which stand one group after the other in ``planned_keys``.

    Attributes:
        configuration_ids: Empty in runs of earlier versions, which didn't say them.
        refits: 1 in runs of earlier versions, which wanted as many and didn't say so.
        keys: How many there are.
    """

    task: str
    system: str
    folds: int
    repeats: int
    configuration_ids: tuple[int, ...]
    refits: int
    keys: int


def write_plan(planned: Iterable[Wanted]) -> str:
    """A run's plan as text."""
    groups = [{**asdict(wanted), "keys": len(wanted.keys)} for wanted in planned]
    return json.dumps(groups, sort_keys=True)


def read_plan(text: str | None) -> tuple[Group, ...]:
    """A run's plan from what ``write_plan`` wrote; empty for a run without one."""
    return tuple(
        Group(
            task=group["task"],
            system=group["system"],
            folds=group["folds"],
            repeats=group["repeats"],
            configuration_ids=tuple(group.get("configuration_ids") or ()),
            refits=group.get("refits", 1),
            keys=group["keys"],
        )
        for group in json.loads(text or "[]")
    )
