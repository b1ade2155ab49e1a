"""C-LR: logistic regression with L1 and L2 by OWL-QN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from runner.models.base import BinaryPathClassifier
from runner.models.family import Family, Parameter


class LogisticRegression(BinaryPathClassifier):
    shared: ClassVar[str] = "tolerance"

    def __init__(self, tolerance: float = 1e-7, l1: float = 1.0, l2: float = 1.0, memory: int = 20):
        self.tolerance = tolerance
        self.l1 = l1
        self.l2 = l2
        self.memory = memory


def _estimator(configuration: Mapping[str, Any], *, seed: int, threads: int) -> LogisticRegression:
    return LogisticRegression(**configuration)


def _cost(configuration: Mapping[str, Any], rows: int, columns: int) -> float:
    return 1.0


LOGISTIC_REGRESSION = Family(
    name="C-LR",
    version=1,
    libraries=("numpy",),
    parameters={
        parameter.name: parameter
        for parameter in (
            Parameter("tolerance", (1e-7, 1e-4), 1e-7, "real", low=0, open_low=True),
            Parameter("l1", (0.0, 0.01, 0.1, 1.0), 1.0, "real", low=0),
            Parameter("l2", (0.01, 0.1, 1.0), 1.0, "real", low=0),
            Parameter("memory", (5, 20, 50), 20, "whole", low=1, high=1000),
        )
    },
    shared="tolerance",
    descending=True,
    linear=True,
    estimator=_estimator,
    cost=_cost,
)
