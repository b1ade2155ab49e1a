"""Real numeric data sets with two classes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

# Threads that wait by spinning keep each other from a busy machine's few cores. It is read when
# LightGBM or XGBoost is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

Data = tuple[np.ndarray, np.ndarray]

SHARED = Path(__file__).parents[3] / "shared" / "data" / "datasets"
# The files are no part of the project: where they are missing, the bundled sets remain.
TARGETS = {"diabetes": "class", "kc2": "problems", "phoneme": "target", "x-spambase": "target"}
FILES = tuple(name for name in TARGETS if (SHARED / f"{name}.parquet").exists())
BUNDLED: dict[str, Callable[[], Data]] = {
    "breast_cancer": lambda: load_breast_cancer(return_X_y=True),
    "odd digits": lambda: with_target(load_digits, lambda digit: digit % 2),
    "digits above 4": lambda: with_target(load_digits, lambda digit: digit > 4),
    "versicolor": lambda: with_target(load_iris, lambda species: species == 1),
    "the second wine": lambda: with_target(load_wine, lambda cultivar: cultivar == 1),
    "diabetes' progression": lambda: with_target(
        load_diabetes, lambda progression: progression > np.median(progression)
    ),
}


def with_target(load: Callable[..., Data], positive: Callable[[np.ndarray], np.ndarray]) -> Data:
    X, y = load(return_X_y=True)
    return X, positive(y).astype(int)


@pytest.fixture(scope="session")
def breast_cancer() -> Data:
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="session", params=(*BUNDLED, *FILES))
def real(request: pytest.FixtureRequest) -> Data:
    """X (rows, columns) float64 and y (rows,) of 0 and 1, one data set after the other."""
    if request.param in BUNDLED:
        return BUNDLED[request.param]()
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


@pytest.fixture(scope="session")
def standardised() -> Callable[[np.ndarray], np.ndarray]:
    """Standardises columns as the linear families do, by scikit-learn."""
    return lambda X: StandardScaler().fit_transform(X).astype(np.float32).astype(np.float64)


@pytest.fixture(scope="session")
def visits() -> Callable[[int, int, int], np.ndarray]:
    """The rows in the order of their visits, (rows * passes,), from (rows, seed, passes)."""
    from runner.models.kernels.linear import shuffle

    def visits(rows: int, seed: int, passes: int) -> np.ndarray:
        order, state, result = np.arange(rows), np.array([seed], np.uint64), []
        for _ in range(passes):
            shuffle(order, state)
            result.append(order.copy())
        return np.concatenate(result)

    return visits
