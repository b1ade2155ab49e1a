"""CPU time of a work's whole tree since its clock started, in seconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from runner.sandbox import procfs
from runner.sandbox.cgroups import Base, Group


@dataclass(frozen=True)
class CpuTime:
    """Seconds in user and kernel mode."""

    user: float
    system: float

    @classmethod
    def shared_out(cls, total: float, user: float, system: float) -> CpuTime:
        """A precise ``total`` in the proportion of coarse counts of user and system time."""
        coarse = user + system
        share = user / coarse if coarse > 0 else 1.0
        return cls(total * share, total * (1 - share))

    def since(self, earlier: CpuTime) -> CpuTime:
        return CpuTime(max(0.0, self.user - earlier.user), max(0.0, self.system - earlier.system))


class CpuClock(Protocol):
    """Measures one work."""

    def start(self, pid: int) -> None:
        """The work's clock starts; ``pid`` is the child's."""

    def used(self) -> float:
        """Seconds since the start, while it runs."""

    def stop(self) -> None:
        """The work's clock stops."""

    def read(self, reaped: CpuTime) -> CpuTime:
        """CPU time since the start, once ``reaped`` was told of all ended processes."""


class GroupClock:
    """The kernel's count for a group, to the nanosecond (version 1) or microsecond."""

    def __init__(self, group: Group):
        self._group = group
        self._start = (0.0, 0.0, 0.0)
        self._stop = (0.0, 0.0, 0.0)

    def start(self, pid: int) -> None:
        self._start = self._now()

    def used(self) -> float:
        return self._now()[0] - self._start[0]

    def stop(self) -> None:
        self._stop = self._now()

    def read(self, reaped: CpuTime) -> CpuTime:
        total, user, system = (b - a for a, b in zip(self._start, self._stop, strict=True))
        return CpuTime.shared_out(total, user, system)

    def _now(self) -> tuple[float, float, float]:
        """Total, user and system seconds; version 1 counts the latter two in clock ticks."""
        if self._group.version == 2:
            table = self._group.table("cpu.stat")
            usec = (table[name] for name in ("usage_usec", "user_usec", "system_usec"))
            total, user, system = (number / 1e6 for number in usec)
        else:
            files = ("cpuacct.usage", "cpuacct.usage_user", "cpuacct.usage_sys")
            total, user, system = (self._group.number(file) / 1e9 for file in files)
        return total, user, system


class Throttling:
    """How long quotas on the owner's own groups, such as a container's, held processors back.

    A work's own groups have none: its cores are leased.

    Args:
        own: The groups this process is in, as ``cgroups.own_bases`` tells them.
    """

    def __init__(self, own: Mapping[str, Base]):
        base = own.get("cpu") or own.get("unified")
        self._folders = [] if base is None else list(_statistics(base))
        self._start = 0.0

    def start(self) -> None:
        self._start = self._seconds()

    def read(self) -> float | None:
        """Seconds since the start; None where no group tells."""
        return self._seconds() - self._start if self._folders else None

    def _seconds(self) -> float:
        return sum(_throttled(folder) or 0.0 for folder in self._folders)


def _statistics(base: Base) -> Iterator[Path]:
    """The groups from ``base`` up that count throttling."""
    for folder in (base.folder, *base.folder.parents):
        if folder == base.root.parent:
            return
        if _throttled(folder) is not None:
            yield folder


def _throttled(folder: Path) -> float | None:
    """Seconds by a group's statistics, which are in micro- (version 2) or nanoseconds."""
    try:
        table = Group(folder, 2).table("cpu.stat")
    except OSError:
        return None
    if "throttled_usec" in table:
        return table["throttled_usec"] / 1e6
    return table["throttled_time"] / 1e9 if "throttled_time" in table else None


class ReapedClock:
    """The sum over ended processes; the start is known to a clock tick (10 ms) only.

    Args:
        zygote: Its descendants are the tree. It waits for none before the work is over, so that
            ended ones can still be counted.
    """

    def __init__(self, zygote: int) -> None:
        self._zygote = zygote
        self._start = CpuTime(0, 0)

    def start(self, pid: int) -> None:
        self._start = CpuTime(*procfs.cpu_seconds(pid))

    def used(self) -> float:
        return procfs.tree_cpu_seconds(self._zygote) - self._start.user - self._start.system

    def stop(self) -> None:
        """The end of the tree can't be told from its work here."""

    def read(self, reaped: CpuTime) -> CpuTime:
        return reaped.since(self._start)
