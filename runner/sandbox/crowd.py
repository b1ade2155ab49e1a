"""The limit on a tree's processes and threads, by a group or by a watchdog that looks at /proc."""

from __future__ import annotations

from typing import Protocol

from runner.sandbox import procfs
from runner.sandbox.cgroups import Group


class CrowdLimit(Protocol):
    """What holds the number of processes of one work, and what it saw.

    Attributes:
        tick: Seconds after which ``look`` wants to be called again; None: never.
    """

    tick: float | None

    def look(self) -> bool:
        """Whether the owner has to kill the tree because there are more than may be."""

    def refused(self) -> int:
        """How often so far a process was one too many."""


class CrowdGroup:
    """A pids group: the kernel refuses the fork that would make one too many, and counts it."""

    tick: float | None = None

    def __init__(self, group: Group, count: int):
        self._group = group
        group.write("pids.max", count)

    def look(self) -> bool:
        return False

    def refused(self) -> int:
        return refused_forks(self._group)


class CrowdWatch:
    """Counts the tree every few milliseconds.

    Args:
        zygote: Its descendants are the tree.
        count: How many processes and threads there may be.
    """

    tick: float | None = 0.02

    def __init__(self, zygote: int, count: int):
        self._zygote = zygote
        self._count = count
        self._struck = False

    def look(self) -> bool:
        self._struck = self._struck or procfs.crowd(self._zygote) > self._count
        return self._struck

    def refused(self) -> int:
        return int(self.look())


def refused_forks(group: Group) -> int:
    """Forks that a group's limit refused."""
    return group.table("pids.events")["max"]
