"""What /proc tells of processes. A process that is gone has no children and no memory."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")


def start_time(pid: int) -> int | None:
    """Ticks from the machine's start to the process's, which tells it from a later namesake.

    None where there is no such process, or only its zombie.
    """
    stat = _stat(pid)
    return None if stat is None or stat[0] == "Z" else int(stat[19])


def cpu_seconds(pid: int) -> tuple[float, float]:
    """User and system seconds of a process and of its waited-for children."""
    stat = _stat(pid)
    if stat is None:
        return 0.0, 0.0
    user, system, children_user, children_system = (int(n) / TICKS for n in stat[11:15])
    return user + children_user, system + children_system


def pids() -> list[int]:
    """All processes that this one can see."""
    return [int(entry) for entry in os.listdir(PROC) if entry.isdigit()]


def descendants(root: int) -> list[int]:
    """The processes below ``root``, parents first; zombies included."""
    found: list[int] = []
    queue = [root]
    while queue:
        below = _children(queue.pop())
        found += below
        queue += below
    return found


def _children(pid: int) -> list[int]:
    """The processes whose parent is a thread of ``pid``."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in (PROC / str(pid) / "task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def crowd(root: int) -> int:
    """Processes and threads below ``root``, zombies included, as the kernel's limits count."""
    return sum(_threads(pid) for pid in descendants(root))


def crowd_of(user: int) -> int:
    """Processes and threads of a user, as ``RLIMIT_NPROC`` counts."""
    return sum(_threads(pid) for pid in pids() if _user(pid) == user)


def _user(pid: int) -> int | None:
    with contextlib.suppress(OSError):
        return (PROC / str(pid)).stat().st_uid
    return None


def _threads(pid: int) -> int:
    stat = _stat(pid)
    return 0 if stat is None else max(1, int(stat[17]))


def tree_cpu_seconds(root: int) -> float:
    """User and system seconds of all below ``root``, zombies and waited-for children included."""
    return sum(sum(cpu_seconds(pid)) for pid in descendants(root))


def of_descriptor(pidfd: int) -> int:
    """The process that a pidfd means, by its number here, whatever namespace it came from.

    -1 where it was waited for already.
    """
    text = (PROC / "self/fdinfo" / str(pidfd)).read_text()
    return next(int(line[4:]) for line in text.splitlines() if line.startswith("Pid:"))


@dataclass(frozen=True)
class Resident:
    """Bytes in memory that no file on disk backs: a process's own, and shared memory it maps."""

    own: int = 0
    shared: int = 0

    def __add__(self, other: Resident) -> Resident:
        return Resident(self.own + other.own, self.shared + other.shared)


def resident(pid: int) -> Resident:
    """What a process holds."""
    found = _fields(PROC / str(pid) / "status")
    return Resident(found.get("RssAnon", 0), found.get("RssShmem", 0))


def proportional(pid: int) -> Resident:
    """As ``resident``, a page that n processes share counted 1/n in each."""
    found = _fields(PROC / str(pid) / "smaps_rollup")
    return Resident(found.get("Pss_Anon", 0), found.get("Pss_Shmem", 0))


def image(pid: int) -> int:
    """Where its stack starts: chosen anew at an ``exec``, and taken over by forked children."""
    stat = _stat(pid)
    return 0 if stat is None else int(stat[25])


def filled(pid: int, place: str) -> int:
    """Bytes used of the file system at ``place`` as a process sees it; 0 where it can't be told."""
    try:
        found = os.statvfs(PROC / str(pid) / "root" / place.lstrip("/"))
    except OSError:
        return 0
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def virtual_bytes(pid: int) -> int:
    """Address space of the process."""
    return _fields(PROC / str(pid) / "status").get("VmSize", 0)


def environment(name: str) -> Iterator[tuple[int, str]]:
    """Process and value, wherever a process was started with ``name`` in its environment."""
    wanted = name.encode() + b"="
    for pid in pids():
        with contextlib.suppress(OSError):
            for entry in (PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                if entry.startswith(wanted):
                    yield pid, entry[len(wanted) :].decode(errors="replace")


def command(pid: int) -> list[str]:
    """A process's arguments, its program's name first; empty where it is gone."""
    try:
        text = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return text.decode(errors="replace").split("\0")[:-1]


def kill(pid: int) -> None:
    """SIGKILL, where the process is still there and ours."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def kill_marked(name: str, wanted: Callable[[str], bool]) -> None:
    """SIGKILL for every process with a ``wanted`` value of ``name``, until none is left.

    For trees that no group holds and whose ancestor is gone. Waits two seconds at most, as for
    processes of another user, which can't be killed.
    """
    give_up = time.monotonic() + 2
    while found := [pid for pid, value in environment(name) if wanted(value)]:
        for pid in found:
            kill(pid)
        if time.monotonic() > give_up:
            return
        time.sleep(0.001)


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the third (state) on; the name before may hold anything."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _fields(file: Path) -> dict[str, int]:
    """Bytes by name, of the ``Name:  n kB`` lines."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return {}
    words = (line.split() for line in lines if line.endswith(" kB"))
    return {line[0].rstrip(":"): int(line[1]) * 1024 for line in words}
