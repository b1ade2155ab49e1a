"""A-LR: logistic regression by stochastic gradient descent, Amazon's only binary classifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from runner.models.base import parameters
from runner.models.family import Choice, Family, Parameter, Stop
from runner.models.linear import LinearClassifier, Rows

HELD_OUT = 0.2
"""The share of the rows on which the learning rate is chosen."""

RATES = tuple(4.0**power for power in range(1, -8, -1))
"""Rates to choose from, divided by the number of columns that vary (the mean |x|^2 of a row)."""

PARAMETERS = parameters(
    Parameter("passes", (10,), 10, "whole", low=1, high=10_000),
    Parameter("l2", (1e-6,), 1e-6, "real", low=0),
)


class StochasticLogisticRegression(LinearClassifier):
    """Stochastic gradient descent on mean log-loss + l2/2 |w|^2 with a constant learning rate.

    Follows what Amazon says of its service: one row a step, ten passes by default, shuffled, a
    mild L2 penalty, and a rate chosen for the data. How it chooses is not published. Here each
    rate of a geometric row trains on four fifths of the rows as long as the model itself will,
    the one with the least log-loss on the others, summed over the second half of the passes, wins
    (the larger of equals), and all rows train the model with it. Columns are standardised on the
    training rows, the intercept bears no penalty, and rows are visited in an order shuffled anew
    for each pass. The logistic function rests on the C library's ``exp``.

    Args:
        passes: Passes over the rows.
        l2: Weight of the penalty.
        random_state: Seeds the choice of the rows held out, and the shuffling.

    Attributes:
        coef_: Weights of the standardised columns after the last step, (1, columns).
        intercept_: The intercept, (1,).
        learning_rate_: The rate chosen.
    """

    shared: ClassVar[tuple[str, ...]] = ()
    parameters: ClassVar[Mapping[str, Parameter | Choice]] = PARAMETERS

    learning_rate_: float

    def __init__(self, passes: int = 10, l2: float = 1e-6, random_state: int | None = 0):
        self.passes = passes
        self.l2 = l2
        self.random_state = random_state

    def _descend(self, rows: Rows, stops: Sequence[Stop]) -> Iterator[np.ndarray]:
        state = self._generator()
        self.learning_rate_ = self._chosen_rate(rows, state)
        every = np.arange(len(rows.signs))
        *_, weights = self._passes(rows, every, state, self.learning_rate_)
        for _ in stops:
            yield weights

    def _chosen_rate(self, rows: Rows, state: np.ndarray) -> float:
        """The best rate on rows held out, which are drawn first: ``state`` moves on."""
        from runner.models.kernels.linear import log_loss, shuffle

        order = np.arange(len(rows.signs))
        shuffle(order, state)
        held_out, others = np.split(order, [max(1, int(HELD_OUT * len(order)))])
        varying = max(1, int(np.count_nonzero(rows.scaling.weight)))
        losses = {}
        for rate in (rate / varying for rate in RATES):
            # Too high a rate jumps from pass to pass, and may be lucky after the last one.
            late = islice(self._passes(rows, others, state, rate), int(self.passes) // 2, None)
            losses[rate] = sum(
                log_loss(rows.features, rows.signs, held_out, weights) for weights in late
            )
        return min(losses, key=losses.__getitem__)

    def _passes(
        self, rows: Rows, order: np.ndarray, state: np.ndarray, rate: float
    ) -> Iterator[np.ndarray]:
        """The weights after each pass over the rows that ``order`` names, drawing from a state."""
        from runner.models.kernels.linear import logistic_regression

        order, state = order.copy(), state.copy()
        weights = np.zeros(rows.features.shape[1] + 1)
        for _ in range(int(self.passes)):
            logistic_regression(
                rows.features, rows.signs, order, state, weights, rate, float(self.l2), 1
            )
            yield weights


def _estimator(
    configuration: Mapping[str, Any], *, seed: int, threads: int
) -> StochasticLogisticRegression:
    return StochasticLogisticRegression(**configuration, random_state=seed)


def _cost(configuration: Mapping[str, Any], rows: int, columns: int) -> float:
    visits = configuration["passes"] * rows * (1 + (1 - HELD_OUT / 2) * len(RATES))
    return float(1e-4 + visits * (4.5e-8 + 8.5e-10 * columns))


STOCHASTIC_LOGISTIC_REGRESSION = Family(
    name="A-LR",
    version=2,
    libraries=("numpy",),
    parameters=PARAMETERS,
    shared=(),
    descending=False,
    linear=True,
    estimator=_estimator,
    cost=_cost,
    preload=("runner.models.kernels.linear",),
    seeded=True,
)
