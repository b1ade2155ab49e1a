"""Functions that the tests run inside a sandbox: well-behaved, greedy, hanging and hostile ones."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from runner.sandbox import Report

Arrays = dict[str, np.ndarray]
MIB = 1 << 20


def nothing(arrays: Arrays, argument: Any, report: Report) -> None:
    report.record(0, {})


def echo(arrays: Arrays, argument: Any, report: Report) -> None:
    """One record with the argument as its fields and the arrays as its predictions."""
    report.record(0, argument, {name: np.array(array) for name, array in arrays.items()})


def random_numbers(arrays: Arrays, argument: Any, report: Report) -> None:
    report.record(0, {"python": random.random(), "numpy": float(np.random.random())})


def surroundings(arrays: Arrays, argument: Any, report: Report) -> None:
    Path("left-behind").write_text("x")
    report.record(
        0,
        {
            "cores": len(os.sched_getaffinity(0)),
            "threads": os.environ["OMP_NUM_THREADS"],
            "folder": os.getcwd(),
        },
    )


def warm(argument: Any) -> None:
    print("warming up")
    time.sleep(0.3)


def failing_warm_up(argument: Any) -> None:
    raise LookupError("no such toy")


def recorded_then(arrays: Arrays, argument: tuple[str, Any], report: Report) -> None:
    """Evaluation 0 is recorded, then the function that the argument names misbehaves."""
    name, rest = argument
    report.checkpoint(0)
    report.record(0, {"score": 0.5})
    misbehaviour: Callable[[Any], None] = globals()[name]
    misbehaviour(rest)


def scoring(arrays: Arrays, argument: list[tuple[float, float]], report: Report) -> None:
    """Evaluations that fit and score for as long as the argument says."""
    for index, (fit, score) in enumerate(argument):
        time.sleep(fit)
        report.checkpoint(index)
        time.sleep(score)
        report.record(index, {})


def sum_file(arrays: Arrays, argument: str, report: Report) -> None:
    with open(argument, "rb") as file:
        size = sum(len(block) for block in iter(lambda: file.read(MIB), b""))
    report.record(0, {"size": size})


def touch(arrays: Arrays, mebibytes: int, report: Report) -> None:
    hog = np.ones(mebibytes * MIB, np.uint8)
    # A watchdog samples the peak.
    time.sleep(0.1)
    report.record(0, {"sum": int(hog[::4096].sum())})


def spin(arrays: Arrays, seconds: float, report: Report) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    report.record(0, {})


def widen_affinity(arrays: Arrays, argument: Any, report: Report) -> None:
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    report.record(0, {"cores": len(os.sched_getaffinity(0))})


def lightgbm_with_four_threads(arrays: Arrays, argument: int, report: Report) -> None:
    import lightgbm

    generator = np.random.default_rng(0)
    rows = generator.normal(size=(2000, 20))
    labels = (rows[:, 0] > 0).astype(int)
    model = lightgbm.LGBMClassifier(n_estimators=100, n_jobs=argument, verbose=-1)
    start = time.perf_counter()
    model.fit(rows, labels)
    report.record(0, {"fit_seconds": time.perf_counter() - start})


# What recorded_then calls.


def allocate(mebibytes: int) -> None:
    blocks = [np.ones(MIB, np.uint8) for _ in range(mebibytes)]
    time.sleep(0.5)
    del blocks


def allocate_jointly(mebibytes: int) -> None:
    """Two children that only together hold too much."""
    children = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            allocate(mebibytes)
            os._exit(0)
        children.append(pid)
    for pid in children:
        if os.waitpid(pid, 0)[1] != 0:
            raise RuntimeError("a child was killed")


def fill_shared_memory(mebibytes: int) -> None:
    shared = mmap.mmap(-1, mebibytes * MIB)
    for offset in range(0, mebibytes * MIB, 4096):
        shared[offset] = 1
    time.sleep(0.5)


def fill_shared_file(mebibytes: int) -> None:
    with open(f"/dev/shm/test-sandbox-{os.getpid()}", "wb") as file:
        os.unlink(file.name)
        for _ in range(mebibytes):
            file.write(b"x" * MIB)
        time.sleep(0.5)


def ask_for_the_impossible(argument: Any) -> None:
    np.empty(1 << 60, np.uint8)


def ignore_signals_and_sleep(seconds: float) -> None:
    for number in range(1, signal.NSIG):
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)
    time.sleep(seconds)


def daemonise(argument: Any) -> None:
    """Five daemons, each twice removed and in a session of its own."""
    for _ in range(5):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(60)
            os._exit(0)


def daemonise_and_hang(argument: Any) -> None:
    daemonise(argument)
    time.sleep(60)


def fork_again_and_again(argument: Any) -> None:
    """A chain whose every process ends as soon as it has forked the next."""
    if os.fork() == 0:
        os.setsid()
        while os.fork() == 0:
            pass
        os._exit(0)
    time.sleep(60)


def fork_a_crowd(count: int) -> None:
    for _ in range(count):
        if os.fork() == 0:
            time.sleep(60)
    time.sleep(60)


def segfault(argument: Any) -> None:
    ctypes.string_at(0)


def leave(status: int) -> None:
    os._exit(status)


def leave_politely(status: int) -> None:
    sys.exit(status)


def fail(text: str) -> None:
    raise ValueError(text)


def return_early(argument: Any) -> None:
    pass


def flood(mebibytes: int) -> None:
    block = b"f" * MIB
    for _ in range(mebibytes):
        os.write(1, block)
    os.write(2, b"the last words\n")
    raise RuntimeError("flooded")


def forge(data: bytes) -> None:
    """Write ``data`` to whatever socket is open: the channel to the owner."""
    for descriptor in range(3, 64):
        try:
            channel = socket.socket(fileno=os.dup(descriptor))
        except OSError:
            continue
        channel.sendall(data)
    time.sleep(60)


def kill_the_zygote(argument: Any) -> None:
    daemonise(argument)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)
