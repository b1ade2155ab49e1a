"""Folders that belong to living processes: a lock says so, and goes with whoever holds it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import uuid
from pathlib import Path

_LOCK = ".lock"


class Claim:
    """A folder in use by this process, and perhaps by others that joined it.

    A name with a process id in it would outlive a reused id; a lock can't.
    """

    def __init__(self, path: Path, lock: int):
        self.path = path
        self._lock = lock

    def release(self) -> None:
        """Give the folder up; the last one to do so removes it."""
        if self._lock < 0:
            return
        _remove_if_unused(self.path, self._lock)
        os.close(self._lock)
        self._lock = -1


def new_claim(base: Path, prefix: str) -> Claim:
    """Claim a new folder ``base/prefix...`` that only this user can enter."""
    return join_claim(base / f"{prefix}{uuid.uuid4().hex[:8]}")


def join_claim(path: Path) -> Claim:
    """Claim the folder ``path`` together with whoever holds it already; made if missing."""
    while True:
        path.mkdir(mode=0o700, exist_ok=True)
        # Whoever removes the folder may be quicker.
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if _is_current(path, lock):
                return Claim(path, lock)
            os.close(lock)


def sweep_claims(base: Path, prefix: str) -> None:
    """Remove the folders ``base/prefix*`` whose holders are all dead."""
    for path in base.glob(f"{prefix}*"):
        # What another user owns, or a sibling is removing, is none of our business.
        with contextlib.suppress(OSError):
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _remove_if_unused(path, lock)
            finally:
                os.close(lock)


def _remove_if_unused(path: Path, lock: int) -> None:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_current(path, lock):
            shutil.rmtree(path, ignore_errors=True)


def _is_current(path: Path, lock: int) -> bool:
    """Whether the locked file is still the one in the folder: a remover may have come between."""
    try:
        return os.stat(path / _LOCK).st_ino == os.fstat(lock).st_ino
    except FileNotFoundError:
        return False
