"""C-NN: a neural network of one hidden layer, by per-example SGD."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from runner.models.base import BinaryPathClassifier, parameters
from runner.models.family import INT32, Choice, Family, Parameter, Stop
from runner.models.scaling import Range

DIAMETER = 0.1
"""Azure's word for the width of the range around 0 from which the first weights come."""

SATURATING = 1e4
"""Bound of a scaled value, in spans of the training rows: far enough outside for every unit to
saturate, near enough for the units' sums in float32."""

PARAMETERS = parameters(
    Parameter("learning_rate", (0.01, 0.02, 0.04), 0.1, "real", low=0, high=1, open_low=True),
    Parameter("iterations", (20, 40, 80, 160), 100, "whole", low=1, high=INT32),
    Choice("loss", ("cross_entropy", "squared_error"), "cross_entropy"),
)


class NeuralNetwork(BinaryPathClassifier):
    """One hidden layer of 100 sigmoid units and one sigmoid output, in float32.

    Follows Azure's two-class neural network as mlbench left it: stochastic gradient descent
    example by example without momentum, in a new order each epoch; weights start uniform within
    half the diameter .1 of 0; columns are scaled to [0, 1] on the training rows. It deviates in
    its one output: Azure's network is written with an output for each class.

    Args:
        learning_rate: Of each example's step.
        iterations: Epochs.
        loss: ``cross_entropy`` or ``squared_error`` (half the square) of the output.
        random_state: Seeds the first weights and the orders.

    Attributes:
        hidden_weights_: (columns + 1, 100) float32, the units' biases last.
        output_weights_: (101,) float32, the output's bias last.
        n_iter_: Epochs taken.
    """

    shared: ClassVar[tuple[str, ...]] = ("iterations",)
    parameters: ClassVar[Mapping[str, Parameter | Choice]] = PARAMETERS

    def __init__(
        self,
        learning_rate: float = 0.1,
        iterations: int = 100,
        loss: str = "cross_entropy",
        random_state: int | None = 0,
    ):
        self.learning_rate = learning_rate
        self.iterations = iterations
        self.loss = loss
        self.random_state = random_state

    def _prepare(self, X: np.ndarray, positive: np.ndarray) -> _Rows:
        scaling = Range.learn(X)
        return _Rows(scaling, _inputs(scaling, X), positive.astype(np.float32))

    def _train(self, rows: _Rows, stops: Sequence[Stop]) -> Iterator[None]:
        from runner.models.kernels import network

        values = self._passed(stops)
        self._scaling = rows.scaling
        inputs = self.n_features_in_ + 1
        state = np.array([(self.random_state or 0) % 2**64], np.uint64)
        first = np.empty((inputs, network.UNITS), np.float32)
        top = np.empty((1, network.UNITS + 1), np.float32)
        network.initialise(state, DIAMETER, first)
        network.initialise(state, DIAMETER, top)
        weights = np.zeros((rows.inputs.shape[1], network.WIDTH), np.float32)
        weights[:inputs, : network.UNITS] = first
        order = np.arange(len(rows.targets), dtype=np.int32)
        done = 0
        for (value,) in values:
            network.train(
                rows.inputs,
                rows.targets,
                weights,
                top[0],
                state,
                order,
                np.float32(self.learning_rate),
                self.loss == "squared_error",
                value - done,
            )
            done = value
            self.hidden_weights_ = weights[:inputs, : network.UNITS].copy()
            self.output_weights_ = top[0].copy()
            self.n_iter_ = done
            yield None

    def _margin(self, X: np.ndarray) -> np.ndarray:
        from runner.models.kernels import network

        inputs = _inputs(self._scaling, X)
        weights = np.zeros((inputs.shape[1], network.WIDTH), np.float32)
        weights[: len(self.hidden_weights_), : network.UNITS] = self.hidden_weights_
        margin = np.empty(len(X))
        # A copy, since a model may have been read into memory that can't be written.
        network.margins(inputs, weights, self.output_weights_.copy(), margin)
        return margin


@dataclass(frozen=True)
class _Rows:
    """Training rows: ``inputs`` (rows, columns padded) and ``targets`` (rows,) 0 or 1."""

    scaling: Range
    inputs: np.ndarray
    targets: np.ndarray


def _inputs(scaling: Range, X: np.ndarray) -> np.ndarray:
    """X (rows, columns) scaled, a column of ones, and what the kernels' blocks want."""
    from runner.models.kernels.network import BLOCK

    columns = X.shape[1]
    inputs = np.zeros((len(X), -(-(columns + 1) // BLOCK) * BLOCK), np.float32)
    inputs[:, :columns] = scaling.apply(X, SATURATING)
    inputs[:, columns] = 1.0
    return inputs


def _estimator(configuration: Mapping[str, Any], *, seed: int, threads: int) -> NeuralNetwork:
    return NeuralNetwork(**configuration, random_state=seed)


def _cost(configuration: Mapping[str, Any], rows: int, columns: int) -> float:
    return float(configuration["iterations"] * rows * (2e-7 + 1.4e-8 * columns))


NEURAL_NETWORK = Family(
    name="C-NN",
    version=1,
    libraries=(),
    parameters=PARAMETERS,
    shared=("iterations",),
    descending=False,
    linear=False,
    estimator=_estimator,
    cost=_cost,
    preload=("runner.models.kernels.network",),
    seeded=True,
)
