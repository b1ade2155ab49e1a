"""Programs whose memory and CPU time both the sandbox and BenchExec measure.

Each uses as much CPU time as it sets itself, so that two runs differ by how they are measured and
not by how busy the machine was. ``python measured_programs.py NAME`` is one as a command: it prints
the CPU time that its start took, and ends without Python's own tidying up.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np

from runner.sandbox import Report

MIB = 1 << 20
HOLD_SECONDS = 0.1
"""How long the most memory is held: a watchdog looks now and then."""


def nothing() -> None:
    """What the others are set against."""


def allocate() -> None:
    hog = np.ones(300 * MIB, np.uint8)
    time.sleep(HOLD_SECONDS)
    del hog
    _use_cpu(0.5)


def spin_on_four_threads() -> None:
    threads = [threading.Thread(target=_use_cpu, args=(0.25, time.thread_time)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def fork() -> None:
    """Eight children that all hold their memory before the first of them ends."""
    read, write = os.pipe()
    children = [os.fork() or _be_child(write) for _ in range(8)]
    for _ in children:
        os.read(read, 1)
    time.sleep(HOLD_SECONDS)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def fit_lightgbm() -> None:
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(20_000, 50))
    labels = rows[:, 0] + generator.normal(size=len(rows)) > 0
    model = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1)
    _repeat(lambda: model.fit(rows, labels), 0.8, 1.2)


def multiply_matrices() -> None:
    matrix = np.random.default_rng(0).normal(size=(1500, 1500))
    _repeat(lambda: matrix @ matrix, 0.8, 1.2)


def sleep() -> None:
    time.sleep(0.5)


PROGRAMS: dict[str, Callable[[], None]] = {
    program.__name__: program
    for program in (allocate, spin_on_four_threads, fork, fit_lightgbm, multiply_matrices, sleep)
}


def warm_up(argument: Any) -> None:
    """Load what a first call loads."""
    matrix = np.ones((100, 100))
    lightgbm.LGBMClassifier(n_estimators=1, n_jobs=1, verbose=-1).fit(
        matrix + np.arange(100)[:, None], np.arange(100) % 2
    )
    matrix @ matrix


def as_work(arrays: dict[str, np.ndarray], argument: str, report: Report) -> None:
    """The program that ``argument`` names, in a sandbox."""
    PROGRAMS[argument]()
    report.record(0, {})


def main(name: str) -> None:
    warm_up(None)
    print(time.process_time(), flush=True)
    {**PROGRAMS, "nothing": nothing}[name]()
    os._exit(0)


def _be_child(write: int) -> int:
    hog = np.ones(20 * MIB, np.uint8)
    _use_cpu(0.1)
    os.write(write, hog[:1].tobytes())
    signal.pause()
    return 0


def _repeat(step: Callable[[], object], at_least: float, seconds: float) -> None:
    """Repeat a step for ``at_least`` seconds of CPU time, then fill up to ``seconds``."""
    begin = time.process_time()
    while time.process_time() < begin + at_least:
        step()
    _use_cpu(begin + seconds - time.process_time())


def _use_cpu(seconds: float, clock: Callable[[], float] = time.process_time) -> None:
    """Compute for so much of ``clock``, in steps during which other threads can run."""
    block = bytes(1 << 16)
    end = clock() + seconds
    while clock() < end:
        hashlib.sha256(block)


if __name__ == "__main__":
    main(sys.argv[1])
