"""C-AP: the averaged perceptron."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from runner.models.base import parameters
from runner.models.family import INT32, Choice, Family, Parameter, Stop
from runner.models.linear import LinearClassifier, Rows, cost_of_passes

PARAMETERS = parameters(
    Parameter("learning_rate", (0.1, 0.5, 1.0), 1.0, "real", low=0, high=1e6, open_low=True),
    Parameter("iterations", (1, 10), 10, "whole", low=1, high=INT32),
)


class AveragedPerceptron(LinearClassifier):
    """The mean of the weights along stochastic gradient descent on the hinge loss.

    Follows ML.NET's averaged perceptron (Freund & Schapire 1999 with a margin of 1): a row within
    the margin moves the weights and the intercept by the constant learning rate, from a zero
    start, and every step's weights count in the mean. Columns are standardised on the training
    rows, and rows visited in an order shuffled anew for each pass.

    Args:
        learning_rate: Length of a step; a smaller one widens the margin relative to it.
        iterations: Passes over the rows.
        random_state: Seeds the shuffling.

    Attributes:
        coef_: Mean weights of the standardised columns, (1, columns).
        intercept_: The mean intercept, (1,).
    """

    shared: ClassVar[tuple[str, ...]] = ("iterations",)
    parameters: ClassVar[Mapping[str, Parameter | Choice]] = PARAMETERS

    def __init__(
        self, learning_rate: float = 1.0, iterations: int = 10, random_state: int | None = 0
    ):
        self.learning_rate = learning_rate
        self.iterations = iterations
        self.random_state = random_state

    def _descend(self, rows: Rows, stops: Sequence[Stop]) -> Iterator[np.ndarray]:
        from runner.models.kernels.linear import averaged_perceptron

        count, columns = rows.features.shape
        order, state = np.arange(count), self._generator()
        weights, late = np.zeros(columns + 1), np.zeros(columns + 1)
        done, seen = 0, 0.0
        for (iterations,) in self._passed(stops):
            seen = averaged_perceptron(
                rows.features,
                rows.signs,
                order,
                state,
                weights,
                late,
                float(self.learning_rate),
                seen,
                iterations - done,
            )
            done = iterations
            yield weights - late / seen


def _estimator(configuration: Mapping[str, Any], *, seed: int, threads: int) -> AveragedPerceptron:
    return AveragedPerceptron(**configuration, random_state=seed)


AVERAGED_PERCEPTRON = Family(
    name="C-AP",
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
