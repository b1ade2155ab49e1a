"""What the sandbox's benchmark has to end: works that stop only when they are killed.

Each process of a work tells in a file when it began and when it was last alive, as moments of
``time.monotonic``, which is one clock for all processes.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from runner.sandbox import Report

CROWD = 200
BEAT_SECONDS = 0.05
"""How often a process of a crowd tells that it lives: all together many times a millisecond."""


@dataclass(frozen=True)
class Life:
    """When a work's first process began, when its last was alive, and how many there were."""

    began: float
    last: float
    processes: int

    @classmethod
    def read(cls, file: Path) -> Life:
        """The life that ended."""
        moments = np.fromfile(file).reshape(-1, 2)
        there = moments[moments[:, 0] > 0]
        return cls(there[:, 0].min(), there[:, 1].max(), len(there))


def beat(file: str) -> NoReturn:
    """Spin, and tell the time."""
    _live(_moments(file, 1)[0], 0.0)


def crowd(file: str) -> NoReturn:
    """Be 200 copies of this process, all of which tell the time."""
    moments = _moments(file, CROWD)
    for number in range(1, CROWD):
        if os.fork() == 0:
            _live(moments[number], BEAT_SECONDS)
    _live(moments[0], BEAT_SECONDS)


def commands(file: str) -> NoReturn:
    """Be a process that tells the time, and 199 commands that sleep."""
    moments = _moments(file, CROWD)
    for number in range(1, CROWD):
        subprocess.Popen(["sleep", "600"])
        moments[number] = time.monotonic()
    _live(moments[0], BEAT_SECONDS)


ENDLESS: dict[str, Callable[[str], NoReturn]] = {
    "beat": beat,
    "crowd": crowd,
    "commands": commands,
}


def work(arrays: Mapping[str, np.ndarray], argument: tuple[str, str], report: Report) -> None:
    """The function and file that ``argument`` names, in a sandbox."""
    name, file = argument
    ENDLESS[name](file)


def _moments(file: str, processes: int) -> np.ndarray:
    """Beginning and last sign of life of each process, in memory that outlives them."""
    moments = np.zeros((processes, 2))
    moments[0] = time.monotonic()
    moments.tofile(file)
    return np.memmap(file, np.float64, "r+", shape=moments.shape)


def _live(moments: np.ndarray, pause: float) -> NoReturn:
    if moments[0] == 0:
        moments[0] = time.monotonic()
    while True:
        moments[1] = time.monotonic()
        if pause:
            time.sleep(pause)
