"""What evaluations can do to those who run them: each function is one way."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from runner.sandbox import Report

SHM_KEY = 0x5EED0000


def act(arrays: Mapping[str, np.ndarray], argument: dict[str, Any], report: Report) -> None:
    """Do as ``argument["kind"]`` says, and report where that comes back."""
    if argument["kind"] == "half":
        _report(0, report)
        os.kill(os.getpid(), signal.SIGSEGV)
    if argument["kind"] == "forge":
        report.record(0, {"score": float("nan")})
        return
    KINDS[argument["kind"]](argument)
    _report(0, report)


def _report(index: int, report: Report) -> None:
    report.checkpoint(index)
    report.record(index, {"score": 0.5, "fit_seconds": 0.0})


def _well(argument: dict[str, Any]) -> None:
    pass


def _allocate(argument: dict[str, Any]) -> None:
    np.ones(2**30, dtype=np.uint8)


def _sleep(argument: dict[str, Any]) -> None:
    time.sleep(60)


def _spin(argument: dict[str, Any]) -> None:
    while True:
        pass


def _segfault(argument: dict[str, Any]) -> None:
    ctypes.string_at(0)


def _raise(argument: dict[str, Any]) -> None:
    raise ValueError("\ud800 as told")


def _exit(argument: dict[str, Any]) -> None:
    os._exit(0)


def _leave_daemon(argument: dict[str, Any]) -> None:
    if os.fork() == 0:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)


def _fork_bomb(argument: dict[str, Any]) -> None:
    while True:
        with contextlib.suppress(OSError):
            os.fork()


def _flood(argument: dict[str, Any]) -> None:
    sys.stdout.write("x" * (4 << 20))


def _write_much(argument: dict[str, Any]) -> None:
    with open("large", "wb") as file:
        for _ in range(64):
            file.write(bytes(1 << 20))


def _leave_shared_memory(argument: dict[str, Any]) -> None:
    with open(f"/dev/shm/{argument['mark']}-{os.getpid()}", "wb") as file:
        file.write(bytes(4096))
    libc = ctypes.CDLL(None)
    libc.shmget(SHM_KEY + os.getpid() % 0xFFFF, 4096, 0o1600)


KINDS: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "well": _well,
    "allocate": _allocate,
    "sleep": _sleep,
    "spin": _spin,
    "segfault": _segfault,
    "raise": _raise,
    "exit": _exit,
    "daemon": _leave_daemon,
    "bomb": _fork_bomb,
    "flood": _flood,
    "write": _write_much,
    "share": _leave_shared_memory,
}
