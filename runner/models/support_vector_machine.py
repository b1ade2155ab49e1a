"""C-SVM: a linear support vector machine trained by Pegasos."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from runner.models.base import parameters
from runner.models.family import INT32, Choice, Family, Parameter, Stop
from runner.models.linear import LinearClassifier, Rows, cost_of_passes

PARAMETERS = parameters(
    Parameter("iterations", (1, 10, 100), 1, "whole", low=1, high=INT32),
    Parameter(
        "lambda_", (1e-5, 1e-4, 1e-3, 1e-2, 1e-1), 1e-3, "real", low=0, high=1e6, open_low=True
    ),
)


class SupportVectorMachine(LinearClassifier):
    """Stochastic subgradient descent on mean hinge loss + lambda_/2 |w|^2.

    Follows ML.NET's linear SVM, that is Pegasos (Shalev-Shwartz, Singer & Srebro 2007) with one
    row a step, no projection, an intercept without penalty, and the rate 1/(1 + lambda_ t) at
    step t where the paper has 1/(lambda_ t), huge at first. Columns are standardised on the
    training rows, and rows visited in an order shuffled anew for each pass.

    Args:
        iterations: Passes over the rows.
        lambda_: Weight of the penalty.
        random_state: Seeds the shuffling.

    Attributes:
        coef_: Weights of the standardised columns after the last step, (1, columns).
        intercept_: The intercept, (1,).
    """

    shared: ClassVar[tuple[str, ...]] = ("iterations",)
    parameters: ClassVar[Mapping[str, Parameter | Choice]] = PARAMETERS

    def __init__(self, iterations: int = 1, lambda_: float = 1e-3, random_state: int | None = 0):
        self.iterations = iterations
        self.lambda_ = lambda_
        self.random_state = random_state

    def __sklearn_is_fitted__(self) -> bool:
        # Without it scikit-learn takes the parameter's trailing underscore for a fitted attribute.
        return hasattr(self, "coef_")

    def _descend(self, rows: Rows, stops: Sequence[Stop]) -> Iterator[np.ndarray]:
        from runner.models.kernels.linear import pegasos

        count, columns = rows.features.shape
        order, state = np.arange(count), self._generator()
        sums, penalty = np.zeros(columns + 1), float(self.lambda_)
        done, seen = 0, 0.0
        for (iterations,) in self._passed(stops):
            seen = pegasos(
                rows.features, rows.signs, order, state, sums, penalty, seen, iterations - done
            )
            done = iterations
            weights = sums / (1.0 + penalty * seen)
            weights[-1] = sums[-1]
            yield weights


def _estimator(
    configuration: Mapping[str, Any], *, seed: int, threads: int
) -> SupportVectorMachine:
    return SupportVectorMachine(**configuration, random_state=seed)


SUPPORT_VECTOR_MACHINE = Family(
    name="C-SVM",
    version=1,
    libraries=("numpy",),
    parameters=PARAMETERS,
    shared=("iterations",),
    descending=False,
    linear=True,
    estimator=_estimator,
    cost=cost_of_passes,
    preload=("runner.models.kernels.linear",),
    seeded=True,
)
