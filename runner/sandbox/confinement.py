"""The groups and limits around one work, from before its child exists until all of it is gone."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence

from runner.sandbox.cgroups import Base, Group
from runner.sandbox.clock import CpuClock, CpuTime, GroupClock, ReapedClock
from runner.sandbox.contract import Limits, Usage
from runner.sandbox.means import Means
from runner.sandbox.memory import MemoryGroup, MemoryLimit, Watchdog

MIB = 1 << 20
EMPTY_SECONDS = 5.0


class Confinement:
    """One work's limits, by the means that work here.

    Args:
        means: Where groups are made.
        name: What they are called.
        limits: The work's.
        cores: Those it may use.
        zygote: Process id of the one that forks its child.

    Raises:
        OSError: A group could not be made, though a probe could.
    """

    def __init__(self, means: Means, name: str, limits: Limits, cores: Sequence[int], zygote: int):
        self._groups: dict[Base, Group] = {}
        try:
            for base in (means.memory, means.cpu, means.kill, means.clock):
                if base is not None and base not in self._groups:
                    self._groups[base] = Group.make(base, name)
            self._killer = self._groups[means.kill] if means.kill else None
            if means.cpu:
                self._groups[means.cpu].write("cpuset.cpus", ",".join(map(str, cores)))
            self.memory: MemoryLimit = (
                MemoryGroup(self._groups[means.memory], limits.memory)
                if means.memory
                else Watchdog(zygote, limits.memory)
            )
        except OSError:
            self.close()
            raise
        self._clock: CpuClock = (
            GroupClock(self._groups[means.clock]) if means.clock else ReapedClock()
        )

    @contextlib.contextmanager
    def doors(self) -> Iterator[list[int]]:
        """Descriptors through which the child joins the groups, one each."""
        opened = [group.door() for group in self._groups.values()]
        try:
            yield opened
        finally:
            for door in opened:
                os.close(door)

    def admit(self, pid: int) -> bool:
        """Whether the child stands in every group, which it must before it is told to go."""
        self.memory.admit(pid)
        return all(group.holds(pid) for group in self._groups.values())

    def start(self, pid: int) -> None:
        """The work's clock starts."""
        self.memory.start()
        self._clock.start(pid)

    def stop(self) -> None:
        """The work's clock stops; what ending the tree takes isn't its own."""
        self._clock.stop()

    def kill(self) -> None:
        """Kill the whole tree, where there is a group to kill; the zygote's sweep does the rest."""
        if self._killer is not None:
            self._killer.kill()

    def usage(self, wall: float, reaped: CpuTime) -> Usage:
        """What the tree used since the start.

        Args:
            wall: Seconds by the owner's clock.
            reaped: CPU time of all of the tree's ended processes.
        """
        time = self._clock.read(reaped)
        return Usage(
            wall_seconds=wall,
            cpu_seconds=time.user + time.system,
            user_seconds=time.user,
            system_seconds=time.system,
            peak_mib=_mib(self.memory.peak()),
            baseline_mib=_mib(self.memory.baseline()),
            oom_kills=self.memory.kills(),
        )

    def close(self) -> None:
        """Remove the groups; whatever still lives in one is killed first."""
        give_up = time.monotonic() + EMPTY_SECONDS
        for group in self._groups.values():
            while not group.remove() and time.monotonic() < give_up:
                group.kill()
                time.sleep(0.0005)


def _mib(size: int | None) -> float | None:
    return None if size is None else size / MIB
