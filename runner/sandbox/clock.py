"""CPU time of a work's whole tree since its clock started, in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from runner.sandbox import procfs
from runner.sandbox.cgroups import Group


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
