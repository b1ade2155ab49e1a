"""Real numeric data sets with two classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

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
