"""What the benchmarks' jobs do in their sandbox; light, so that only dispatching is measured."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from runner.sandbox import Report


def sleep(arrays: Mapping[str, np.ndarray], seconds: float, report: Report) -> None:
    """Sleep, and report one evaluation."""
    if seconds:
        time.sleep(seconds)
    report.checkpoint(0)
    report.record(0, {"score": 0.5, "fit_seconds": seconds})
