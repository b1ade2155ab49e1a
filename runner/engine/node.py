"""What a slot shares with others on its machine: cores, and who is busy at the same time."""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import platform
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from runner.sandbox.cores import Place, Topology, choose_cores, read_topology

SEATS = 16
"""Sandboxes that can be told apart on one core; those beyond share the last seat."""

MAX_CORES = 4096


@dataclass
class Lease:
    """Particular cores that a slot holds until it releases them or dies.

    Attributes:
        cores: Their numbers, ascending.
        shared: Whether another sandbox holds one of them too, or there are fewer than asked for:
            on simulated nodes, or when two runs share a machine.
        seat: A number that no other living lease on this machine has.
    """

    cores: tuple[int, ...]
    shared: bool
    seat: int
    _locks: list[int]

    def release(self) -> None:
        """Give the cores back."""
        while self._locks:
            os.close(self._locks.pop())


def node_folder() -> Path:
    """The folder in which all runs on this machine meet."""
    shm = Path("/dev/shm")
    return (shm if shm.is_dir() else Path(tempfile.gettempdir())) / "runner-node"


def lease_cores(
    count: int,
    cores: Iterable[int],
    folder: Path | None = None,
    topology: Topology | None = None,
) -> Lease:
    """Lease the best ``count`` of the least used ``cores`` (runner.sandbox.cores has the rule).

    Never waits: overlaps with other leases where too few are free.

    Args:
        count: How many.
        cores: The cores to choose from, such as those this process may run on.
        folder: Where the locks lie; all that share the machine use the same.
        topology: Where the machine's cores lie; read from it by default.
    """
    folder = folder or node_folder()
    _make_open(folder)
    places = dict(read_topology() if topology is None else topology)
    for core in cores:
        places.setdefault(core, Place(core, 0))
    taken: dict[int, int] = {}
    locks: list[int] = []
    with _locked(folder / "lock"):
        held = _held_seats(folder, set(cores))
        used = {core: len(held.get(core, ())) for core in cores}
        for usage in sorted(set(used.values())):
            free = [core for core, holders in used.items() if holders == usage]
            wanted = count - len(taken)
            for core in choose_cores(places, free, wanted) if wanted else ():
                taken[core] = _free_seat(held.get(core, set()))
                lock = _try_lock(folder / f"core-{core}-{taken[core]}")
                if lock is not None:
                    locks.append(lock)
    first = min(taken)
    shared = len(taken) < count or any(used[core] for core in taken)
    return Lease(tuple(sorted(taken)), shared, first * SEATS + taken[first], locks)


def _held_seats(folder: Path, cores: set[int]) -> dict[int, set[int]]:
    """The seats of each core that somebody holds."""
    held: dict[int, set[int]] = {}
    for path in folder.glob("core-*-*"):
        _, core, seat = path.name.split("-")
        if int(core) not in cores:
            continue
        lock = _try_lock(path)
        if lock is None:
            held.setdefault(int(core), set()).add(int(seat))
        else:
            os.close(lock)
    return held


def _free_seat(held: set[int]) -> int:
    return next((seat for seat in range(SEATS) if seat not in held), SEATS - 1)


class Board:
    """How long each slot of this machine has been busy, in memory that all of them map.

    A slot's cell holds its busy seconds so far while it is idle, and minus the moment it would
    have begun at had it been busy ever since while it is busy: one aligned word, so that a reader
    never sees half of a change.

    Args:
        seat: This slot's cell.
        folder: Where the board lies; all that share the machine use the same.
    """

    def __init__(self, seat: int, folder: Path | None = None):
        folder = folder or node_folder()
        _make_open(folder)
        cells = MAX_CORES * SEATS
        file = _open_shared(folder / "board")
        try:
            if os.fstat(file).st_size < cells * 16:
                os.ftruncate(file, cells * 16)
            memory = mmap.mmap(file, cells * 16)
        finally:
            os.close(file)
        # Cells of cores that this machine hasn't stay 0: they aren't looked at.
        present = (max(os.cpu_count() or 1, max(os.sched_getaffinity(0)) + 1)) * SEATS
        used = min(cells, max(present, seat + 1))
        self._busy = np.frombuffer(memory, dtype=np.float64, count=used)
        self._owners = np.frombuffer(memory, dtype=np.int64, count=used, offset=cells * 8)
        self._seat = seat
        self._busy[seat] = 0.0
        self._owners[seat] = os.getpid()

    @contextmanager
    def busy(self) -> Iterator[Neighbours]:
        """Mark this slot busy, and watch the others meanwhile."""
        neighbours = Neighbours(time.monotonic(), self._others(time.monotonic()))
        self._busy[self._seat] -= neighbours.since
        try:
            yield neighbours
        finally:
            now = time.monotonic()
            self._busy[self._seat] += now
            neighbours.finish(now, self._others(now))

    def _others(self, now: float) -> np.ndarray:
        seconds = np.array(self._busy)
        seconds[self._seat] = 0.0
        for cell in np.flatnonzero(seconds < 0):
            # One that died while it was busy would stay so until its seat is taken again.
            alive = os.path.exists(f"/proc/{self._owners[cell]}")
            seconds[cell] = seconds[cell] + now if alive else 0.0
        return seconds


class Neighbours:
    """The others' busy time during one job.

    Attributes:
        mean: Time average of how many were busy; 0 until the job ends.
    """

    def __init__(self, since: float, busy: np.ndarray):
        self.since = since
        self.mean = 0.0
        self._busy = busy

    def finish(self, now: float, busy: np.ndarray) -> None:
        """Take the others' busy seconds at the job's end, ``now``."""
        # A cell below its value at the start has a new holder, whose count began at 0.
        grown = np.where(busy < self._busy, busy, busy - self._busy)
        self.mean = float(grown.sum()) / max(now - self.since, 1e-9)


def machine() -> str:
    """This machine as JSON: cpu model, cores, memory in MiB, kernel."""
    return json.dumps(
        {
            "cpu": _cpu_model(),
            "cores": os.cpu_count(),
            "memory_mib": total_memory() // 2**20,
            "kernel": platform.release(),
        },
        sort_keys=True,
    )


def total_memory() -> int:
    """Bytes of memory that processes here can use: the machine's, or this group's limit."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            limits.append(int(Path("/sys/fs/cgroup", name).read_text()))
    return min(limits)


def _cpu_model() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("model name", "Model")):
                return line.partition(":")[2].strip()
    return platform.machine()


def _make_open(folder: Path) -> None:
    """Make a folder in which every user of this machine can make files of his own."""
    with suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(0o1777)


def _open_shared(path: Path) -> int:
    """Open a file that every user can write, made if missing."""
    while True:
        # Opening another's file with O_CREAT is refused in a sticky folder (protected_regular).
        with suppress(FileNotFoundError):
            return os.open(path, os.O_RDWR)
        with suppress(FileExistsError):
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
            os.fchmod(file, 0o666)
            return file


def _try_lock(path: Path) -> int | None:
    lock = _open_shared(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = _open_shared(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
