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

    def since(self, earlier: CpuTime) -> CpuTime:
        return CpuTime(max(0.0, self.user - earlier.user), max(0.0, self.system - earlier.system))


class CpuClock(Protocol):
    """Measures one work."""

    def start(self, pid: int) -> None:
        """The work's clock starts; ``pid`` is the child's."""

    def stop(self) -> None:
        """The work's clock stops."""

    def read(self, reaped: CpuTime) -> CpuTime:
        """CPU time since the start, once ``reaped`` was told of all ended processes."""


class GroupClock:
    """The kernel's count for a group, to the nanosecond (version 1) or microsecond."""

    def __init__(self, group: Group):
        self._group = group
        self._start = CpuTime(0, 0)
        self._stop = CpuTime(0, 0)

    def start(self, pid: int) -> None:
        self._start = self._now()

    def stop(self) -> None:
        self._stop = self._now()

    def read(self, reaped: CpuTime) -> CpuTime:
        return self._stop.since(self._start)

    def _now(self) -> CpuTime:
        if self._group.has("cpu.stat"):
            table = self._group.table("cpu.stat")
            return CpuTime(table["user_usec"] / 1e6, table["system_usec"] / 1e6)
        user = self._group.number("cpuacct.usage_user") / 1e9
        return CpuTime(user, self._group.number("cpuacct.usage_sys") / 1e9)


class ReapedClock:
    """The sum over ended processes; the start is known to a clock tick (10 ms) only."""

    def __init__(self) -> None:
        self._start = CpuTime(0, 0)

    def start(self, pid: int) -> None:
        self._start = CpuTime(*procfs.cpu_seconds(pid))

    def stop(self) -> None:
        """The end of the tree can't be told from its work here."""

    def read(self, reaped: CpuTime) -> CpuTime:
        return reaped.since(self._start)
