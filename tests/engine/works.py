"""Functions that the engine's tests run in sandboxes."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from runner.sandbox import Report


def act(arrays: Mapping[str, np.ndarray], argument: dict[str, Any], report: Report) -> None:
    """Do what ``argument`` says for each of its evaluations.

    ``sleep`` seconds, ``scores`` to report, ``sum`` an array, ``predict``, ``fail``, ``allocate``
    bytes, ``kill`` the slot's process while a file of this name exists (``once``: and remove it).
    """
    if flag := argument.get("kill"):
        _kill_owner(flag, argument.get("once", False))
    if argument.get("fail"):
        raise ValueError(argument["fail"])
    if size := argument.get("allocate"):
        np.ones(size, dtype=np.uint8)
    time.sleep(argument.get("sleep", 0))
    for index, score in enumerate(argument["scores"]):
        value = float(arrays[argument["sum"]].sum()) if "sum" in argument else score
        report.checkpoint(index)
        report.record(index, {"score": value, "fit_seconds": 0.0}, _predictions(argument))


def _predictions(argument: Mapping[str, Any]) -> dict[str, np.ndarray] | None:
    if not argument.get("predict"):
        return None
    return {
        "row_ids": np.array([3, 5], dtype=np.int32),
        "classes": np.array(["no", "yes"]),
        "confidences": np.array([[0.25, 0.75], [0.5, 0.5]], dtype=np.float32),
        "labels": np.array(["yes", "no"]),
    }


def _kill_owner(flag: str, once: bool) -> None:
    """Have the process that owns the sandbox killed, as the kernel's memory killer might.

    A sandbox may see no process but its own: the test's executioner does it.
    """
    if os.path.exists(flag):
        if once:
            os.unlink(flag)
        with socket.socket(socket.AF_UNIX) as executioner:
            executioner.connect(f"\0{os.path.dirname(flag)}")
            time.sleep(60)


def report_nonsense(arrays: object, argument: object, report: Report) -> None:
    """Report a column that there isn't."""
    report.record(0, {"score": 0.5, "colour": "red"})
