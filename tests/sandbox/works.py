"""Functions that the tests run inside a sandbox: well-behaved, greedy, hanging and hostile ones."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from runner.sandbox import Report

Arrays = dict[str, np.ndarray]
MIB = 1 << 20


def nothing(arrays: Arrays, argument: Any, report: Report) -> None:
    report.record(0, {})


def several(arrays: Arrays, argument: Any, report: Report) -> None:
    for index in range(argument):
        report.checkpoint(index)
        report.record(index, {"score": index / 2}, {"confidences": np.full(3, index, "f4")})
