"""What works leave in shared memory: removed after each, where it is the sandbox's own."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from runner.sandbox.namespaces import SHARED_MEMORY

_REMOVE = 0
_SYSV = Path("/proc/sysvipc")


def clear() -> None:
    """Remove all POSIX and System V shared memory, semaphores and queues that can be seen.

    Only for a process in namespaces of its own: elsewhere they are other programs'.
    """
    for entry in os.scandir(SHARED_MEMORY):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.unlink(entry.path)
    libc = ctypes.CDLL(None)
    removals: dict[str, Callable[[int], object]] = {
        "shm": lambda number: libc.shmctl(number, _REMOVE, None),
        "sem": lambda number: libc.semctl(number, 0, _REMOVE),
        "msg": lambda number: libc.msgctl(number, _REMOVE, None),
    }
    for kind, remove in removals.items():
        # A line of titles, then a line each: the key, the number, ...
        for line in (_SYSV / kind).read_text().splitlines()[1:]:
            remove(int(line.split()[1]))
