"""A task's arrays as files on a node, written once there and mapped by every sandbox."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import numpy as np

from runner.engine.claims import Claim, join_claim, sweep_claims

SHARED_MEMORY = Path("/dev/shm")
PREFIX = "runner-arrays-"

Fetch = Callable[[], Mapping[str, np.ndarray]]


class NodeArrays:
    """This node's files of one run's arrays.

    The first process that wants some arrays writes them, the others wait for it and map the same
    files; the last process to close removes them.

    Args:
        run: The run's name, equal in all processes that share the files.
        places: Folders to keep them in, the best first; by default shared memory, else disk.
    """

    def __init__(self, run: str, places: tuple[Path, ...] | None = None):
        self._run = run
        self._places = default_places() if places is None else places
        self._claims: list[Claim] = []

    def folder(self, name: str, fetch: Fetch) -> str:
        """The folder with the arrays of this name as ``.npy`` files.

        Args:
            name: The arrays' name in the run.
            fetch: Gives the arrays where they aren't on this node yet.
        """
        if not self._claims:
            sweep_arrays(self._places)
            self._claims = [join_claim(p / f"{PREFIX}{self._run}") for p in self._places]
        safe = quote(name, safe="")
        with self._locked(safe):
            return str(self._find(safe) or self._write(safe, fetch()))

    def close(self) -> None:
        """Give the files up; the last one to do so removes them."""
        while self._claims:
            self._claims.pop().release()

    def _find(self, name: str) -> Path | None:
        found = (claim.path / name for claim in self._claims)
        return next((path for path in found if path.is_dir()), None)

    def _write(self, name: str, arrays: Mapping[str, np.ndarray]) -> Path:
        size = sum(array.nbytes for array in arrays.values())
        home = next((c.path for c in self._claims if _fits(c.path, size)), self._claims[-1].path)
        # A name of its own until it is whole: a half-written one, left by a kill, isn't found.
        partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=home))
        try:
            for array_name, array in arrays.items():
                _save(partial / f"{array_name}.npy", array)
            partial.rename(home / name)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        return home / name

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        lock = os.open(self._claims[0].path / f".{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def default_places() -> tuple[Path, ...]:
    """Where a node's arrays may lie: shared memory where there is some, then disk."""
    disk = Path(tempfile.gettempdir())
    usable = SHARED_MEMORY.is_dir() and os.access(SHARED_MEMORY, os.W_OK)
    return (SHARED_MEMORY, disk) if usable else (disk,)


def sweep_arrays(places: tuple[Path, ...] | None = None) -> None:
    """Remove the files of processes that died without doing so."""
    for place in default_places() if places is None else places:
        sweep_claims(place, PREFIX)


def _fits(place: Path, size: int) -> bool:
    # Half is left to others: the object store lives in shared memory too.
    room = os.statvfs(place)
    return size <= room.f_bavail * room.f_frsize // 2


def _save(path: Path, array: np.ndarray) -> None:
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
