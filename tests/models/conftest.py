"""Real numeric data sets with two classes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

# Threads that wait by spinning keep each other from a busy machine's few cores. It is read when
# LightGBM or XGBoost is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

SHARED = Path(__file__).parents[3] / "shared" / "data" / "datasets"
BUNDLED = ("breast_cancer", "digits")
# The files are no part of the project; without them the bundled sets alone are tested.
TARGETS = {"diabetes": "class", "kc2": "problems", "phoneme": "target", "x-spambase": "target"}
FILES = tuple(name for name in TARGETS if (SHARED / f"{name}.parquet").exists())


@pytest.fixture(scope="session")
def breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="session", params=BUNDLED + FILES)
def real(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    """X (rows, columns) float64 and y (rows,) of 0 and 1, one data set after the other."""
    if request.param == "breast_cancer":
        return load_breast_cancer(return_X_y=True)
    if request.param == "digits":
        X, digit = load_digits(return_X_y=True)
        return X, digit % 2
    table = pd.read_parquet(SHARED / f"{request.param}.parquet")
    target = table.pop(TARGETS[request.param])
    return table.to_numpy(np.float64), np.unique(target.astype(str), return_inverse=True)[1]


class SplitMix:
    """SplitMix64 in Python's integers, and the bags drawn with it: what the kernels should do."""

    GAMMA = 0x9E3779B97F4A7C15

    def __init__(self, state: int):
        self.state = state

    @staticmethod
    def mix(state: int) -> int:
        z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def next(self) -> int:
        self.state = (self.state + self.GAMMA) % 2**64
        return self.mix(self.state)

    @staticmethod
    def pick(number: int, bound: int) -> int:
        """A whole number below the bound, from the number's upper half."""
        return (number >> 32) * bound >> 32

    @classmethod
    def halves(cls, number: int, bounds: tuple[int, int]) -> tuple[int, int]:
        return cls.pick(number, bounds[0]), cls.pick(number << 32 & 2**64 - 1, bounds[1])

    def picks(self, bound: int, count: int) -> list[int]:
        """So many whole numbers below the bound, two of each random number."""
        both = [self.halves(self.next(), (bound, bound)) for _ in range(-(-count // 2))]
        return [one for pair in both for one in pair][:count]

    @classmethod
    def bag(cls, rows: int, seed: int, member: int) -> tuple[np.ndarray, int]:
        """How often each row is in a member's bag, and the member's seed."""
        first = cls.mix(cls.mix((seed + cls.GAMMA) % 2**64) ^ (member + 1) * cls.GAMMA % 2**64)
        stream = cls(first)
        drawn = [cls.pick(stream.next(), rows) for _ in range(rows)]
        return np.bincount(drawn, minlength=rows), cls.mix(first ^ 0xD1B54A32D192ED03)


@pytest.fixture(scope="session")
def splitmix() -> type[SplitMix]:
    return SplitMix
