"""What the families cost when their algorithms were tried out, before this code was written.

CPU seconds of one thread on one 80 % fold, scoring excluded, on a virtual machine with 2 cores like
the one of RESULTS.md; give or take a fifth. A machine's speed shows in the peers' times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TOO_LITTLE = 0.0001
"""Seconds that no aim is measured by."""

WITHIN = 1.3
"""By how much a cost may exceed what was expected."""

FOREST_SHARE = 0.1
"""What C-DF with 1,024 candidates may take of a RandomForest with all features, of equal trees and
depth, on the largest shape."""


@dataclass(frozen=True)
class Cost:
    """A family's CPU seconds on one shape.

    Attributes:
        cheapest: Of its configurations.
        dearest: Of its configurations.
        separate: The whole grid, each configuration fitted by itself; None where it is too little
            to have been told apart.
        shared: The whole grid with shared fits.
    """

    cheapest: float
    dearest: float
    separate: float | None = None
    shared: float | None = None


EXPECTED: Mapping[str, Mapping[str, Cost]] = {
    "small": {
        "C-AP": Cost(0.0001, 0.0001),
        "C-BPM": Cost(0.003, 0.003),
        "C-BDT": Cost(0.002, 0.135, 9.0, 6.1),
        "C-DF": Cost(0.0001, 0.016, 0.2, 0.1),
        "C-DJ": Cost(0.0007, 1.2, 8.7, 2.9),
        "C-NN": Cost(0.014, 0.11, 1.3, 0.7),
        "C-SVM": Cost(0.0001, 0.0016),
        "C-LR": Cost(0.001, 0.008, 0.2, 0.1),
    },
    "medium": {
        "C-AP": Cost(0.0002, 0.0025),
        "C-BPM": Cost(0.020, 0.020),
        "C-BDT": Cost(0.008, 4.8, 103, 78),
        "C-DF": Cost(0.0001, 1.0, 8.3, 3.3),
        "C-DJ": Cost(0.0004, 2.7, 16.4, 6.7),
        "C-NN": Cost(0.17, 1.3, 15, 8),
        "C-SVM": Cost(0.0003, 0.022),
        "C-LR": Cost(0.004, 0.074, 1.7, 1.4),
    },
    "large": {
        "C-AP": Cost(0.0075, 0.084),
        "C-BPM": Cost(2.43, 2.43),
        "C-BDT": Cost(0.08, 35.6, 902, 727),
        "C-DF": Cost(0.0014, 9.4, 91, 33),
        "C-DJ": Cost(0.007, 10.3, 68, 29),
        "C-NN": Cost(1.8, 15, 163, 87),
        "C-SVM": Cost(0.008, 0.77),
        "C-LR": Cost(0.14, 0.62, 27, 20),
    },
}
"""By shape and family; what was too little to be measured stands as ``TOO_LITTLE``."""

FACTORS: Mapping[str, float] = {"small": 1.9, "medium": 1.4, "large": 1.35}
"""By how much sharing is to lower the CPU seconds of the whole grid, at least."""


def ratio(seconds: float, expected: float | None) -> float | None:
    """How many times what was expected; None where nothing is to be compared with."""
    return None if expected is None or expected <= TOO_LITTLE else seconds / expected
