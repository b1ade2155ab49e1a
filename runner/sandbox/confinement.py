"""The groups and limits around one work, from before its child exists until all of it is gone."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runner.sandbox import cgroups, procfs
from runner.sandbox.cgroups import Base, Group
from runner.sandbox.clock import CpuClock, CpuTime, GroupClock, ReapedClock, Throttling
from runner.sandbox.contract import Limits, Usage
from runner.sandbox.crowd import CrowdGroup, CrowdLimit, CrowdWatch
from runner.sandbox.ledger import End
from runner.sandbox.means import Means
from runner.sandbox.memory import MemoryGroup, MemoryLimit, Watchdog

MIB = 1 << 20
EMPTY_SECONDS = 5.0
USER_SLACK = 8
"""Processes of a sandbox's own user beside a work's: the zygote, and who made its namespaces."""
OTHERS_SLACK = 200
"""By how many the user's other processes and threads may grow while a work runs."""


@dataclass(frozen=True)
class Evidence:
    """What the kernel or a watchdog has counted so far.

    Attributes:
        oom_kills: Processes killed for want of memory.
        refused: Processes that were one too many.
    """

    oom_kills: int = 0
    refused: int = 0


class Confinement:
    """One work's limits, by the means that work here.

    Args:
        means: Where groups are made.
        name: What they are called.
        limits: The work's.
        cores: Those it may use.
        zygote: Process id of the one that forks its child.
        own_user: Whether nothing but this sandbox counts as its user's processes.
        own_files: Whether the files in shared memory are this sandbox's alone.

    Raises:
        OSError: A group could not be made, though a probe could.
    """

    def __init__(
        self,
        means: Means,
        name: str,
        limits: Limits,
        cores: Sequence[int],
        zygote: int,
        *,
        own_user: bool,
        own_files: bool,
    ):
        self._groups: dict[Base, Group] = {}
        self._throttling = Throttling(_own_bases())
        self._limits = limits
        self._own_user = own_user
        self.parallel = len(cores) if means.cpu else os.cpu_count() or 1
        bases = [means.memory, means.cpu, means.kill, means.clock]
        if limits.processes is not None:
            bases.append(means.processes)
        try:
            for base in bases:
                if base is not None and base not in self._groups:
                    self._groups[base] = Group.make(base, name)
            self._killer = self._groups[means.kill] if means.kill else None
            if means.cpu:
                self._groups[means.cpu].write("cpuset.cpus", ",".join(map(str, cores)))
            self._memory: MemoryLimit = (
                MemoryGroup(self._groups[means.memory], limits.memory)
                if means.memory
                else Watchdog(zygote, limits.memory, own_files)
            )
            self._crowd = self._crowd_limit(means, zygote)
        except OSError:
            self.close()
            raise
        self._clock: CpuClock = (
            GroupClock(self._groups[means.clock]) if means.clock else ReapedClock(zygote)
        )

    def _crowd_limit(self, means: Means, zygote: int) -> CrowdLimit | None:
        if self._limits.processes is None:
            return None
        if means.processes:
            return CrowdGroup(self._groups[means.processes], self._limits.processes)
        return CrowdWatch(zygote, self._limits.processes)

    @property
    def rlimits(self) -> dict[str, int]:
        """What the child sets on itself, by the names of ``resource``."""
        limits = self._limits
        wanted = {
            "RLIMIT_FSIZE": limits.file_size,
            "RLIMIT_NOFILE": limits.open_files,
            "RLIMIT_AS": self._memory.address_space,
        }
        if isinstance(self._crowd, CrowdWatch) and limits.processes:
            # The watchdog judges; this keeps a crowd from growing faster than it looks. It means
            # nothing for root.
            others = 0 if self._own_user else procfs.crowd_of(os.getuid()) + OTHERS_SLACK
            wanted["RLIMIT_NPROC"] = limits.processes + others + USER_SLACK
        return {name: value for name, value in wanted.items() if value is not None}

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
        return all(group.holds(pid) for group in self._groups.values())

    def start(self, pid: int) -> None:
        """The work's clock starts."""
        self._memory.start(pid)
        self._throttling.start()
        self._clock.start(pid)

    def cpu_seconds(self) -> float:
        """What the tree has used since the start."""
        return self._clock.used()

    @property
    def tick(self) -> float | None:
        """Seconds after which ``look`` wants to be called again; None: never."""
        ticks = [self._memory.tick, None if self._crowd is None else self._crowd.tick]
        return min((tick for tick in ticks if tick is not None), default=None)

    def look(self) -> End | None:
        """Why the owner has to kill the tree now, if it has to."""
        if self._memory.look():
            return End("memory", "memory")
        if self._crowd is not None and self._crowd.look():
            return End("crash", "processes")
        return None

    def evidence(self) -> Evidence:
        """What was counted so far."""
        return Evidence(self._memory.kills(), 0 if self._crowd is None else self._crowd.refused())

    def stop(self) -> None:
        """The work's clock stops; what ending the tree takes isn't its own."""
        self._clock.stop()

    def kill(self) -> bool:
        """Kill the whole tree; False where no group can and the zygote has to look for it."""
        if self._killer is None:
            return False
        self._killer.kill()
        return True

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
            throttled_seconds=self._throttling.read(),
            peak_mib=_mib(self._memory.peak()),
            baseline_mib=_mib(self._memory.baseline()),
            oom_kills=self._memory.kills(),
        )

    def close(self) -> None:
        """Remove the groups; whatever still lives in one is killed first."""
        give_up = time.monotonic() + EMPTY_SECONDS
        for group in self._groups.values():
            while not group.remove() and time.monotonic() < give_up:
                group.kill()
                time.sleep(0.0005)


_own_bases = functools.cache(cgroups.own_bases)


def _mib(size: int | None) -> float | None:
    return None if size is None else size / MIB
