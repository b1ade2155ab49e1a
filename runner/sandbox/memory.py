"""The memory limit of one work, by a memory group or by a watchdog that looks at /proc."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import IO, Protocol

from runner.sandbox import procfs
from runner.sandbox.cgroups import Group
from runner.sandbox.namespaces import SHARED_MEMORY

ADDRESS_SLACK = 3 << 29
"""Address space beyond the limit that a child needs for stacks, arenas and libraries."""


class MemoryLimit(Protocol):
    """What holds the memory of one work, and what it saw.

    Attributes:
        tick: Seconds after which ``look`` wants to be called again; None: never.
    """

    tick: float | None

    @property
    def address_space(self) -> int | None:
        """Bytes that each process may map; None: as many as it likes."""

    def start(self, pid: int) -> None:
        """The clock of the child ``pid`` starts: what is used now is the baseline."""

    def look(self) -> bool:
        """Whether the owner has to kill the tree because it used more than it may."""

    def kills(self) -> int:
        """Processes killed so far for want of memory."""

    def peak(self) -> int | None:
        """Bytes at the most since the start; None where nothing here can tell."""

    def baseline(self) -> int | None:
        """Bytes at the start."""


class MemoryGroup:
    """A memory group: the kernel kills, and counts all pages that the tree touches first.

    Pages of the zygote that the child only reads are not in it, in the peak neither.
    """

    tick: float | None = None
    address_space: int | None = None

    def __init__(self, group: Group, size: int):
        self._group = group
        self._baseline: int | None = None
        # Version 2 resets the peak for those alone who read through the same open file.
        self._peak: IO[str] | None = None
        limit_memory(group, size)

    def start(self, pid: int) -> None:
        v2 = self._group.version == 2
        self._baseline = self._group.number("memory.current" if v2 else "memory.usage_in_bytes")
        # Where it can't be reset (version 2 before Linux 6.12) the peak includes the start-up.
        with contextlib.suppress(OSError):
            if v2:
                self._peak = (self._group.folder / "memory.peak").open("r+")
                self._peak.write("0")
                self._peak.flush()
            else:
                self._group.write("memory.max_usage_in_bytes", 0)

    def look(self) -> bool:
        return False

    def kills(self) -> int:
        return oom_kills(self._group)

    def peak(self) -> int | None:
        if self._peak is not None:
            self._peak.seek(0)
            return int(self._peak.read())
        file = "memory.peak" if self._group.version == 2 else "memory.max_usage_in_bytes"
        return self._group.number(file) if self._group.has(file) else None

    def baseline(self) -> int | None:
        return self._baseline


class Watchdog:
    """Adds up the tree's resident memory every few milliseconds.

    A limit on each process's address space bounds what one can take between two looks.

    Args:
        zygote: Its descendants are the tree.
        size: Bytes that the tree may hold.
        own_files: Whether the files in /dev/shm are this sandbox's alone. Otherwise those that
            nobody maps go unseen.
    """

    tick: float | None = 0.02

    def __init__(self, zygote: int, size: int, own_files: bool):
        self._zygote = zygote
        self._size = size
        self._own_files = own_files
        self._child: int | None = None
        self._inherited = procfs.resident(zygote).own
        # The child's, which is the zygote's too; that one may not let itself be looked at.
        self._image: int | None = None
        self._baseline: int | None = None
        self._peak = 0
        self._struck = False

    @property
    def address_space(self) -> int | None:
        """Bytes that each process may map, what it takes over from the zygote included."""
        return procfs.virtual_bytes(self._zygote) + self._size + ADDRESS_SLACK

    def start(self, pid: int) -> None:
        self._child = pid
        self._image = procfs.image(pid)
        self._peak = 0
        self.look()
        self._baseline = self._peak

    def look(self) -> bool:
        used = self._used()
        self._peak = max(self._peak, used)
        self._struck = self._struck or used > self._size
        return self._struck

    def kills(self) -> int:
        return int(self._struck)

    def peak(self) -> int | None:
        return self._peak

    def baseline(self) -> int | None:
        return self._baseline

    def _used(self) -> int:
        tree = procfs.descendants(self._zygote)
        # A forked process shows the zygote's pages as its own; where the quick sum passes the
        # limit the slow one, which shares pages out, decides.
        quick = self._sum(self._added(pid) for pid in tree)
        if quick <= self._size:
            return quick
        return self._sum(procfs.proportional(pid) for pid in tree)

    def _added(self, pid: int) -> procfs.Resident:
        found = procfs.resident(pid)
        executed = self._image is not None and procfs.image(pid) != self._image
        inherited = 0 if executed else self._inherited
        return procfs.Resident(max(0, found.own - inherited), found.shared)

    def _sum(self, parts: Iterable[procfs.Resident]) -> int:
        total = sum(parts, procfs.Resident())
        child = self._child if self._own_files else None
        files = 0 if child is None else procfs.filled(child, SHARED_MEMORY)
        # What is mapped of the files is in both.
        return total.own + max(total.shared, files)


def limit_memory(group: Group, size: int) -> None:
    """Limit the memory of a group, with no swap beside it."""
    if group.version == 2:
        group.write("memory.max", size)
        if group.has("memory.swap.max"):
            group.write("memory.swap.max", 0)
        return
    group.write("memory.limit_in_bytes", size)
    # Absent where the kernel doesn't count swap.
    if group.has("memory.memsw.limit_in_bytes"):
        group.write("memory.memsw.limit_in_bytes", size)


def oom_kills(group: Group) -> int:
    """Processes of the group that the kernel killed for want of memory.

    Those killed because the whole machine ran out are among them: version 1 doesn't tell them
    apart (its failure counters stay 0 on Linux 6.18).
    """
    file = "memory.events" if group.version == 2 else "memory.oom_control"
    return group.table(file)["oom_kill"]
