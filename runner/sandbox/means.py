"""By which means limits are held here: candidates from what is mounted, kept if they work."""

from __future__ import annotations

import contextlib
import functools
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from runner.sandbox import cgroups, owner, procfs
from runner.sandbox.cgroups import Base, Group
from runner.sandbox.memory import limit_memory, oom_kills

PROBE_MEMORY = 32 << 20
PROBE_SECONDS = 5.0

# Joins the groups, widens its affinity, leaves a daemon behind, then allocates past the limit.
_PROBE = """
import os, sys, time
for door in sys.argv[1:]:
    os.write(int(door), b"0")
try:
    os.sched_setaffinity(0, range(os.cpu_count()))
except OSError:
    pass
daemon = os.fork()
if not daemon:
    os.setsid()
    time.sleep(60)
    os._exit(0)
print(daemon, *os.sched_getaffinity(0), flush=True)
hog = bytearray(b"x") * (96 << 20)
print("survived", flush=True)
time.sleep(60)
"""


@dataclass(frozen=True)
class Means:
    """Where the groups that hold each limit are made; None where a limit rests on less.

    Attributes:
        memory: Memory groups; else an address-space limit and a watchdog.
        cpu: Cpusets; else the affinity that the zygote starts with.
        kill: Groups whose processes can be killed all at once; else the zygote's descendants.
        clock: Groups that count CPU time; else the times of reaped processes.
    """

    memory: Base | None = None
    cpu: Base | None = None
    kill: Base | None = None
    clock: Base | None = None

    def enforced(self) -> dict[str, str]:
        """What each limit rests on, as a row of results tells it."""
        kill = "cgroup.kill" if self.kill and self.kill.version == 2 else "freezer"
        return {
            "memory": f"cgroup-v{self.memory.version}" if self.memory else "rlimit+watchdog",
            "cpu": "cpuset" if self.cpu else "affinity",
            "kill": kill if self.kill else "subreaper",
        }


def candidates(own: Mapping[str, Base]) -> Means:
    """The strongest means that the mounted controllers promise.

    Args:
        own: The groups this process is in, as ``cgroups.own_bases`` tells them.
    """
    unified = own.get("unified")
    shared = None
    if unified is not None:
        shared = cgroups.distributing(unified, {"memory", "cpuset"}) or cgroups.distributing(
            unified, {"memory"}
        )
    if shared is not None:
        with_cpuset = cgroups.distributing(shared, {"cpuset"}) == shared
        return Means(shared, shared if with_cpuset else own.get("cpuset"), shared, shared)
    # In a hybrid mount the freezer is preferred to cgroup.kill: a version 2 group is joined
    # under the lock that Group.door avoids.
    kill = own.get("freezer", unified)
    return Means(own.get("memory"), own.get("cpuset"), kill, own.get("cpuacct", unified))


@functools.cache
def probe() -> Means:
    """The means that work here, each tried: allocate past a limit, leave the cores, daemonise.

    Takes some 30 ms the first time in a process.
    """
    means = _makeable(candidates(cgroups.own_bases()))
    if means == Means():
        return means
    name = owner.new_name()
    groups = {base: Group.make(base, name) for base in _bases(means)}
    try:
        return _tried(means, groups)
    finally:
        for group in groups.values():
            group.kill()
        give_up = time.monotonic() + 1
        while not all(group.remove() for group in groups.values()):
            if time.monotonic() > give_up:
                break
            time.sleep(0.001)


def _bases(means: Means) -> set[Base]:
    return {b for b in (means.memory, means.cpu, means.kill, means.clock) if b is not None}


def _makeable(means: Means) -> Means:
    """``means`` without those whose groups this process may not make."""
    name = owner.new_name()
    for base in _bases(means):
        try:
            Group.make(base, name).remove()
        except OSError:
            lost = {
                field: None
                for field in ("memory", "cpu", "kill", "clock")
                if getattr(means, field) == base
            }
            means = replace(means, **lost)
    return means


def _tried(means: Means, groups: Mapping[Base, Group]) -> Means:
    core = min(os.sched_getaffinity(0))
    if means.memory:
        limit_memory(groups[means.memory], PROBE_MEMORY)
    if means.cpu:
        groups[means.cpu].write("cpuset.cpus", core)
    with _probing(groups) as process:
        words = _line(process).split()
        if not words:
            return Means()
        daemon, cores = int(words[0]), {int(word) for word in words[1:]}
        # No second line comes from a process that was killed; the daemon keeps the pipe open.
        _wait(process)
        if means.memory and oom_kills(groups[means.memory]) == 0:
            means = replace(means, memory=None)
        if cores != {core}:
            means = replace(means, cpu=None)
        if means.kill:
            groups[means.kill].kill()
            if not _gone(daemon):
                means = replace(means, kill=None)
        procfs.kill(daemon)
    return means


@contextlib.contextmanager
def _probing(groups: Mapping[Base, Group]) -> Iterator[subprocess.Popen[bytes]]:
    doors = [group.door() for group in groups.values()]
    command = [sys.executable, "-I", "-S", "-c", _PROBE, *map(str, doors)]
    process = subprocess.Popen(
        command,
        pass_fds=doors,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    for door in doors:
        os.close(door)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], PROBE_SECONDS)
    return process.stdout.readline().decode() if ready else ""


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Until the process is killed or tells that it survived."""
    assert process.stdout is not None
    give_up = time.monotonic() + PROBE_SECONDS
    while process.poll() is None and time.monotonic() < give_up:
        if select.select([process.stdout], [], [], 0.001)[0]:
            break


def _gone(pid: int) -> bool:
    give_up = time.monotonic() + 1
    while procfs.start_time(pid) is not None:
        if time.monotonic() > give_up:
            return False
        time.sleep(0.0005)
    return True
