"""By which means limits are held here: candidates from what is mounted, kept if they work."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.sandbox import cgroups, jail, namespaces, owner, procfs
from runner.sandbox.cgroups import Base, Group
from runner.sandbox.contract import Trust
from runner.sandbox.crowd import CrowdGroup, refused_forks
from runner.sandbox.jail import Jail
from runner.sandbox.memory import limit_memory, oom_kills

PROBE_MEMORY = 32 << 20
PROBE_SECONDS = 5.0

PROBE_CROWD = 8

_NAMES = ("memory", "cpu", "kill", "clock", "processes")

# Joins the groups, widens its affinity, leaves a daemon behind, forks past the limit, then
# allocates past the limit.
_PROBE = """
import os, sys, time
refused = []
for place, door in enumerate(sys.argv[1:]):
    try:
        os.write(int(door), b"0")
    except OSError:
        refused.append(place)
try:
    os.sched_setaffinity(0, range(os.cpu_count()))
except OSError:
    pass
daemon = os.fork()
if not daemon:
    os.setsid()
    time.sleep(60)
    os._exit(0)
forked = 0
try:
    for forked in range(16):
        if not os.fork():
            os._exit(0)
except OSError:
    pass
print([daemon, refused, sorted(os.sched_getaffinity(0)), forked], flush=True)
hog = bytearray(b"x") * (96 << 20)
print("survived", flush=True)
time.sleep(60)
"""

# Leaves a file in shared memory, and fails where it can write to control groups or sees others.
_PRIVATE_PROBE = """
import importlib.util, json, os, sys
config = json.loads(sys.argv[1])
place = importlib.util.spec_from_file_location("namespaces", config["namespaces"])
namespaces = importlib.util.module_from_spec(place)
place.loader.exec_module(namespaces)
namespaces.enter(config["view"])
open("/dev/shm/" + sys.argv[2], "x").close()
shared = len(open("/proc/sysvipc/shm").readlines()) > 1
writable = any("cgroup.procs" in files and os.access(folder + "/cgroup.procs", os.W_OK)
               for folder, _, files in os.walk("/sys/fs/cgroup"))
alone = len([entry for entry in os.listdir("/proc") if entry.isdigit()]) == 1
sys.exit(shared or writable or alone != config["view"]["processes"])
"""


@dataclass(frozen=True)
class Private:
    """Namespaces that our own code's zygote enters, for shared memory that is the sandbox's alone.

    Attributes:
        user: Whether it needs a user namespace for them.
        processes: Whether its processes are alone too, and all end with the zygote.
    """

    user: bool
    processes: bool

    def view(self) -> dict[str, Any]:
        """What the zygote has ``namespaces.enter``."""
        return {"kind": "private", **dataclasses.asdict(self), "owner": os.getpid()}


Choices = dict[str, list[Base]]
"""For each of a Means' attributes where its groups may be made, the strongest first."""


@dataclass(frozen=True)
class Means:
    """Where the groups that hold each limit are made; None where a limit rests on less.

    Attributes:
        memory: Memory groups; else an address-space limit and a watchdog.
        cpu: Cpusets; else the affinity that the zygote starts with.
        kill: Groups whose processes can be killed all at once; else the zygote's descendants.
        clock: Groups that count CPU time; else the times of reaped processes.
        processes: Groups that limit how many processes there are; else a watchdog counts them.
        private: Namespaces in which a sandbox's shared memory is its own; None: it isn't.
        jail: How somebody else's code is confined; None: it can't be, or nobody asked.
    """

    memory: Base | None = None
    cpu: Base | None = None
    kill: Base | None = None
    clock: Base | None = None
    processes: Base | None = None
    private: Private | None = None
    jail: Jail | None = None

    def enforced(self, trust: Trust = "fits") -> dict[str, str]:
        """What each limit rests on, as a row of results tells it; ``none``: it isn't held."""
        kill = "cgroup.kill" if self.kill and self.kill.version == 2 else "freezer"
        own_user = trust == "archive" or (self.private is not None and self.private.user)
        alone = self.private is not None and self.private.processes
        looked_for = "pid-namespace" if alone or trust == "archive" else "subreaper"
        found = {
            "memory": _version(self.memory) or "rlimit+watchdog",
            "cpu": "cpuset" if self.cpu else "affinity",
            "kill": kill if self.kill else looked_for,
            "cpu_time": _version(self.clock) or "procfs",
            "processes": _version(self.processes) or ("rlimit+" * own_user + "watchdog"),
            "file_size": "rlimit",
            "open_files": "rlimit",
            "files": "none",
            "network": "none",
            "visibility": "pid-namespace" if alone else "none",
            "user": "none",
            "shared_memory": "namespaces" if self.private else "none",
            "groups": "read-only" if self.private else "none",
        }
        if trust == "archive" and self.jail is not None:
            found |= self.jail.enforced()
        return found


def _version(base: Base | None) -> str | None:
    return None if base is None else f"cgroup-v{base.version}"


def candidates(own: Mapping[str, Base]) -> Choices:
    """What the mounted controllers promise.

    A process is in one version 2 group only, so all of a work's version 2 limits have one base.

    Args:
        own: The groups this process is in, as ``cgroups.own_bases`` tells them.
    """
    home, given = _home(own.get("unified"))
    choices: Choices = {
        "memory": _present(home if "memory" in given else None, own.get("memory")),
        "cpu": _present(home if "cpuset" in given else None, own.get("cpuset")),
        "kill": _present(home, own.get("freezer")),
        "clock": _present(home, own.get("cpuacct")),
        "processes": _present(home if "pids" in given else None, own.get("pids")),
    }
    if not given:
        # A version 2 group that limits nothing is joined under the lock that Group.door avoids:
        # it is the second choice.
        choices["kill"].reverse()
        choices["clock"].reverse()
    return choices


def _home(unified: Base | None) -> tuple[Base | None, set[str]]:
    """Where version 2 groups are made, and which limits they get there."""
    if unified is not None:
        for needed in ({"memory", "cpuset"}, {"memory"}, {"cpuset"}, {"pids"}):
            base = cgroups.distributing(unified, needed)
            if base is not None:
                return base, cgroups.given(base)
    return unified, set()


def _present(*bases: Base | None) -> list[Base]:
    return [base for base in bases if base is not None]


@functools.cache
def probe(trust: Trust = "fits") -> Means:
    """The means that work here, each tried: allocate past a limit, leave the cores, daemonise...

    Takes some 60 ms the first time in a process, and as much again for an archive's.

    Args:
        trust: Whose code is to run: how an archive's is confined is tried only where it matters.
    """
    if trust == "archive":
        return dataclasses.replace(probe(), jail=jail.probe())
    groups = _groups()
    # A group that can be killed at once spares the sandbox a namespace of processes.
    return dataclasses.replace(groups, private=private(processes=groups.kill is None))


def _groups() -> Means:
    choices = candidates(cgroups.own_bases())
    while True:
        best = {name: bases[0] for name, bases in choices.items() if bases}
        means = dataclasses.replace(Means(), **best)  # type: ignore[arg-type]
        failed = _try(means)
        if not failed:
            return means
        for name in failed:
            choices[name].pop(0)


def holds(means: Means) -> bool:
    """Whether every group of ``means`` holds what it promises, tried."""
    return not _try(means)


def _try(means: Means) -> set[str]:
    """The attributes of ``means`` that don't hold what they promise."""
    used = {name: base for name in _NAMES if (base := getattr(means, name)) is not None}
    title = owner.new_name()
    groups: dict[Base, Group] = {}
    try:
        for base in set(used.values()):
            with contextlib.suppress(OSError):
                groups[base] = Group.make(base, title)
        not_made = {name for name, base in used.items() if base not in groups}
        if not_made or not used:
            return not_made
        return _failures(used, groups)
    finally:
        for group in groups.values():
            cgroups.clear(group.folder)


def _failures(used: Mapping[str, Base], groups: Mapping[Base, Group]) -> set[str]:
    core = min(os.sched_getaffinity(0))
    # A limit that can't be set shows below, in what the process is able to do.
    with contextlib.suppress(OSError):
        if "memory" in used:
            limit_memory(groups[used["memory"]], PROBE_MEMORY)
    with contextlib.suppress(OSError):
        if "processes" in used:
            CrowdGroup(groups[used["processes"]], PROBE_CROWD)
    with contextlib.suppress(OSError):
        if "cpu" in used:
            groups[used["cpu"]].write("cpuset.cpus", core)
    with _probing(groups.values()) as process:
        line = _line(process)
        if not line:
            return set(used)
        daemon, refused, cores, forked = json.loads(line)
        places = list(groups)
        failed = {name for name, base in used.items() if places.index(base) in refused}
        # No second line comes from a process that was killed; the daemon keeps the pipe open.
        _wait(process)
        if "memory" in used and oom_kills(groups[used["memory"]]) == 0:
            failed.add("memory")
        if "processes" in used and (
            forked >= PROBE_CROWD or refused_forks(groups[used["processes"]]) == 0
        ):
            failed.add("processes")
        if "cpu" in used and cores != [core]:
            failed.add("cpu")
        if "kill" in used:
            groups[used["kill"]].kill()
            if not _gone(daemon):
                failed.add("kill")
        procfs.kill(daemon)
    return failed


def private(processes: bool) -> Private | None:
    """The strongest of a zygote's namespaces that can be entered, tried.

    Args:
        processes: Whether its processes should be alone, where that works.
    """
    user = os.getuid() != 0
    ways = [Private(user, True)] * processes + [Private(user, False)]
    return next((way for way in ways if _entered(way)), None)


def _entered(way: Private) -> bool:
    config = {"namespaces": namespaces.__file__, "view": way.view()}
    # A file of this name is visible outside where shared memory isn't private after all.
    name = owner.new_name()
    command = [sys.executable, "-I", "-S", "-c", _PRIVATE_PROBE, json.dumps(config), name]
    finished = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    seen = Path(namespaces.SHARED_MEMORY, name)
    leaked = seen.exists()
    seen.unlink(missing_ok=True)
    return finished.returncode == 0 and not leaked


@contextlib.contextmanager
def _probing(groups: Iterable[Group]) -> Iterator[subprocess.Popen[bytes]]:
    doors = [group.door() for group in groups]
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
