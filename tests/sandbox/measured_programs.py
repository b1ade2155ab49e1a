"""Programs whose memory and CPU time both the sandbox and BenchExec measure.

Each uses as much CPU time as it sets itself, so that two runs differ by how they are measured and
not by how busy the machine was. ``python measured_programs.py NAME`` is one as a command: it prints
the CPU time that its start took, and with ``--idle`` the start is all it does.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np

from runner.sandbox import Report

MIB = 1 << 20
HOLD_SECONDS = 0.1
"""How long the most memory is held: a watchdog looks now and then."""


def allocate() -> None:
    with _using_cpu(1.0):
        hog = np.ones(300 * MIB, np.uint8)
        time.sleep(HOLD_SECONDS)
        del hog


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
    import lightgbm

    with _using_cpu(3.0):
        generator = np.random.default_rng(0)
        rows = generator.normal(size=(100_000, 100))
        labels = rows[:, 0] + generator.normal(size=len(rows)) > 0
        lightgbm.LGBMClassifier(n_estimators=1, n_jobs=1, verbose=-1).fit(rows, labels)


def multiply_matrices() -> None:
    with _using_cpu(1.5):
        matrix = np.random.default_rng(0).normal(size=(2000, 2000))
        product = matrix @ matrix
        time.sleep(HOLD_SECONDS)
        del product


def sleep() -> None:
    time.sleep(0.5)


PROGRAMS: dict[str, Callable[[], None]] = {
    program.__name__: program
    for program in (allocate, spin_on_four_threads, fork, fit_lightgbm, multiply_matrices, sleep)
}


def warm_up(name: str) -> None:
    """Load what the first call of a library loads."""
    rows = np.arange(10_000.0).reshape(100, 100)
    rows @ rows
    if name == "fit_lightgbm":
        import lightgbm

        lightgbm.LGBMClassifier(n_estimators=1, n_jobs=1, verbose=-1).fit(rows, rows[:, 0] > 5000)


def as_work(arrays: dict[str, np.ndarray], argument: str, report: Report) -> None:
    """The program that ``argument`` names, in a sandbox."""
    PROGRAMS[argument]()
    report.record(0, {})


def as_command(arrays: dict[str, np.ndarray], argument: str, report: Report) -> None:
    """The same as a command, in a sandbox."""
    done = subprocess.run([sys.executable, __file__, argument], stdout=subprocess.PIPE, check=True)
    report.record(0, {"start": float(done.stdout)})


def main(name: str, *options: str) -> None:
    warm_up(name)
    print(time.process_time(), flush=True)
    if "--idle" not in options:
        PROGRAMS[name]()
    # Python's own tidying up is no part of the program.
    os._exit(0)


def _be_child(write: int) -> int:
    with _using_cpu(0.3):
        hog = np.ones(20 * MIB, np.uint8)
    os.write(write, hog[:1].tobytes())
    signal.pause()
    return 0


@contextlib.contextmanager
def _using_cpu(seconds: float) -> Iterator[None]:
    """Fill up what the block computes to a set time.

    Its own won't do: memory that a virtual machine touches for the first time takes ten times as
    long as the next time.
    """
    begin = time.process_time()
    yield
    rest = begin + seconds - time.process_time()
    assert rest > 0, f"this machine needs {seconds - rest:.1f} s where {seconds} s are set"
    _use_cpu(rest)


def _use_cpu(seconds: float, clock: Callable[[], float] = time.process_time) -> None:
    """Compute for so much of ``clock``, in steps during which other threads can run."""
    block = bytes(1 << 16)
    end = clock() + seconds
    while clock() < end:
        hashlib.sha256(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
