"""The calls into the Linux kernel that Python has no name for."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal

_SET_DEATH_SIGNAL = 1
_SET_CHILD_SUBREAPER = 36
_FAILED = ctypes.c_void_p(-1).value


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


def map_file(descriptor: int) -> memoryview:
    """The content of a file, mapped for reading for as long as the process lives.

    Raises:
        OSError: It can't be mapped, as where it is empty.
    """
    size = os.fstat(descriptor).st_size
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(
        None,
        ctypes.c_size_t(size),
        mmap.PROT_READ,
        mmap.MAP_SHARED,
        descriptor,
        ctypes.c_long(0),
    )
    if address in (None, _FAILED):
        raise _error()
    return memoryview((ctypes.c_char * size).from_address(address)).toreadonly()


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise _error()


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
