"""C-LR: logistic regression with L1 and L2 penalties, by OWL-QN."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from runner.models.base import BinaryPathClassifier, parameters
from runner.models.family import Choice, Family, Parameter, Stop
from runner.models.owlqn import minimise
from runner.models.scaling import Scaling

MOST_ITERATIONS = 10_000
IMPROVEMENT_MEMORY = 0.25

PARAMETERS = parameters(
    Parameter("tolerance", (1e-7, 1e-4), 1e-7, "real", low=0, open_low=True),
    Parameter("l1", (0.0, 0.01, 0.1, 1.0), 1.0, "real", low=0),
    Parameter("l2", (0.01, 0.1, 1.0), 1.0, "real", low=0),
    Parameter("memory", (5, 20, 50), 20, "whole", low=1, high=1000),
)


class LogisticRegression(BinaryPathClassifier):
    """Minimises mean log-loss + l1/n |w|_1 + l2/(2n) |w|^2 over standardised columns.

    Follows ML.NET's trainer, the open descendant of Azure's C-LR: OWL-QN from a zero start, the
    penalties divided by the number of rows n, an intercept without penalty, and its stop rule
    (``_mean_improvements``). Columns are standardised on the training rows. Deterministic: no
    seed, and one BLAS thread whatever the process allows. The weights' last bits may differ
    between kinds of processors, as BLAS adds up what suits each; equal rows have equal margins.

    Args:
        tolerance: Stop when the objective's mean improvement falls below it.
        l1: Weight of the L1 penalty.
        l2: Weight of the L2 penalty.
        memory: Curvature pairs kept by the optimiser.

    Attributes:
        coef_: Weights of the standardised columns, (1, columns).
        intercept_: The intercept, (1,).
        n_iter_: Iterations taken, (1,).
    """

    shared: ClassVar[tuple[str, ...]] = ("tolerance",)
    parameters: ClassVar[Mapping[str, Parameter | Choice]] = PARAMETERS

    coef_: np.ndarray
    intercept_: np.ndarray
    n_iter_: np.ndarray

    def __init__(self, tolerance: float = 1e-7, l1: float = 1.0, l2: float = 1.0, memory: int = 20):
        self.tolerance = tolerance
        self.l1 = l1
        self.l2 = l2
        self.memory = memory

    def _prepare(self, X: np.ndarray, positive: np.ndarray) -> _Rows:
        scaling = Scaling.learn(X)
        return _Rows(scaling, scaling.apply(X), np.where(positive, 1.0, -1.0))

    def _train(self, rows: _Rows, stops: Sequence[Stop]) -> Iterator[None]:
        values = self._passed(stops, descending=True)
        self._scaling = rows.scaling
        count, columns = rows.features.shape
        penalty = np.full(columns + 1, self.l1 / count)
        penalty[columns] = 0.0
        loss = _PenalisedLoss(rows, self.l2)
        points = islice(
            minimise(loss, penalty, np.zeros(columns + 1), self.memory), MOST_ITERATIONS + 1
        )
        steps = _mean_improvements(points)
        point, improvement, iterations = next(steps)
        for (value,) in values:
            with _one_blas_thread():
                while improvement >= value:
                    step = next(steps, None)
                    if step is None:
                        improvement = 0.0
                    else:
                        point, improvement, iterations = step
            self.coef_ = point[None, :columns]
            self.intercept_ = point[columns:]
            self.n_iter_ = np.array([iterations])
            yield None

    def _margin(self, X: np.ndarray) -> np.ndarray:
        from runner.models.kernels.linear import margins

        result = np.empty(len(X))
        margins(self._scaling.apply(X), self.coef_[0], self.intercept_[0], result)
        return result


@dataclass(frozen=True)
class _Rows:
    """Training rows: ``features`` (rows, columns) scaled, ``sign`` (rows,) 1 or -1."""

    scaling: Scaling
    features: np.ndarray
    sign: np.ndarray


class _PenalisedLoss:
    """Mean log-loss and the L2 penalty of (weights, intercept)."""

    def __init__(self, rows: _Rows, l2: float):
        self._rows = rows
        self._decay = l2 / len(rows.sign)

    def value(self, point: np.ndarray) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
        weights = point[:-1]
        wrong = -self._rows.sign * (self._rows.features @ weights + point[-1])
        # log(1 + exp(wrong)) without overflow; exp(-|wrong|) serves the gradient too.
        small = np.exp(-np.abs(wrong))
        loss = float(np.mean(np.maximum(wrong, 0.0) + np.log1p(small)))
        return loss + 0.5 * self._decay * float(weights @ weights), (wrong, small)

    def gradient(self, point: np.ndarray, computed: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        wrong, small = computed
        share = np.where(wrong > 0, 1.0, small) / (1.0 + small)
        residual = -self._rows.sign * share / len(wrong)
        gradient = np.empty_like(point)
        gradient[:-1] = residual @ self._rows.features + self._decay * point[:-1]
        gradient[-1] = residual.sum()
        return gradient


def _mean_improvements(
    points: Iterator[tuple[np.ndarray, float]],
) -> Iterator[tuple[np.ndarray, float, int]]:
    """Each point with the mean improvement so far and its number.

    The mean over past iterations weighs each one by a quarter of the next (ML.NET's criterion);
    before the first iteration it is infinite.
    """
    point, last = next(points)
    yield point, np.inf, 0
    total = 0.0
    for number, (point, value) in enumerate(points, start=1):
        total = (last - value) + IMPROVEMENT_MEMORY * total
        last = value
        yield point, total * (1 - IMPROVEMENT_MEMORY) / (1 - IMPROVEMENT_MEMORY**number), number


def _one_blas_thread() -> Any:
    """Products summed by several threads have other last bits."""
    return thread_pools().limit(limits=1, user_api="blas")


@cache
def thread_pools() -> Any:
    """The numerical libraries' thread pools; looking through all loaded libraries takes 10 ms."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def _estimator(configuration: Mapping[str, Any], *, seed: int, threads: int) -> LogisticRegression:
    return LogisticRegression(**configuration)


def _cost(configuration: Mapping[str, Any], rows: int, columns: int) -> float:
    # Each digit of the tolerance takes a few iterations, more where the penalty hardly curves the
    # objective. An iteration reads the rows about twice and its curvature pairs twice.
    digits = 1 - min(0.0, math.log10(configuration["tolerance"]))
    flatness = 1 - min(0.0, math.log10(max(configuration["l2"], 1e-6)))
    iterations = 2.5 * digits * flatness
    pairs = min(configuration["memory"], iterations)
    return float(iterations * (5e-5 + 5e-6 * pairs + 3e-8 * rows + 1e-9 * rows * columns))


LOGISTIC_REGRESSION = Family(
    name="C-LR",
    version=2,
    libraries=("numpy",),
    parameters=PARAMETERS,
    shared=("tolerance",),
    descending=True,
    linear=True,
    estimator=_estimator,
    cost=_cost,
    preload=("runner.models.kernels.linear", f"{__name__}:thread_pools"),
    seeded=False,
    order_free=True,
)
