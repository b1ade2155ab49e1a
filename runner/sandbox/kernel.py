"""The calls into the Linux kernel that Python has no name for."""

from __future__ import annotations

import ctypes
import os
import signal

_SET_DEATH_SIGNAL = 1
_SET_CHILD_SUBREAPER = 36


def die_with_parent(parent: int) -> None:
    """SIGKILL for this process as soon as the thread that started it ends.

    Args:
        parent: Process id of the parent; where it is gone already, this process exits.
    """
    _prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Descendants whose parents end become children of this process."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
