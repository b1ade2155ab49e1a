"""C-BPM: the Bayes point machine, by expectation propagation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from runner.models.base import BinaryPathClassifier, parameters
from runner.models.family import INT32, Choice, Family, Parameter, Stop
from runner.models.scaling import Scaling

FULL_COLUMNS = 512
"""With more features the weights are taken as independent: a sweep is then linear in them."""

SETTLED = 1e-10
"""Sweeps end when no site moves farther."""

PARAMETERS = parameters(Parameter("iterations", (30,), 30, "whole", low=1, high=INT32))


class BayesPointMachine(BinaryPathClassifier):
    """Bayesian probit regression, scored by its predictive probability.

    Follows Infer.NET's Bayes point machine (Minka 2001; Herbrich, Graepel & Campbell 2001): the
    label is the sign of w.x plus noise of variance 1, w is N(0, I) over the standardised columns
    and a constant one for the bias, and expectation propagation visits the rows in their order.
    Up to 512 features the posterior has a full covariance and, once settled, depends on that
    order by no more than ``SETTLED`` lets it move; above, its weights are independent, another
    model, and it holds two numbers for each value of the training rows. Deterministic: no seed.
    ``exp`` and ``erfc`` are the C library's.

    Infer.NET's finished classifier has another prior: independent weights with heavy tails, as
    the precision of each one is learnt with it (a Gamma distribution of Gamma distributed rate).
    Fixed at 1 it is that of Infer.NET's tutorial, and needs the columns standardised.

    Args:
        iterations: Most sweeps over the rows.

    Attributes:
        posterior_: The weights' distribution over (standardised columns, 1).
        n_iter_: Sweeps taken.
    """

    shared: ClassVar[tuple[str, ...]] = ("iterations",)
    parameters: ClassVar[Mapping[str, Parameter | Choice]] = PARAMETERS

    posterior_: FullPosterior | IndependentPosterior
    n_iter_: int

    def __init__(self, iterations: int = 30):
        self.iterations = iterations

    def _prepare(self, X: np.ndarray, positive: np.ndarray) -> _Rows:
        scaling = Scaling.learn(X)
        return _Rows(scaling, _with_bias(scaling.apply(X)), np.where(positive, 1.0, -1.0))

    def _train(self, rows: _Rows, stops: Sequence[Stop]) -> Iterator[None]:
        self._scaling = rows.scaling
        full = self.n_features_in_ <= FULL_COLUMNS
        sites = (FullSites if full else IndependentSites).of(rows.features, rows.signs)
        self.n_iter_, moved = 0, np.inf
        for (iterations,) in self._passed(stops):
            while self.n_iter_ < iterations and moved >= SETTLED:
                moved = sites.sweep()
                self.n_iter_ += 1
            self.posterior_ = sites.posterior()
            yield None

    def _margin(self, X: np.ndarray) -> np.ndarray:
        return self.posterior_.scores(_with_bias(self._scaling.apply(X)))

    def _probability(self, margin: np.ndarray) -> np.ndarray:
        from scipy.special import ndtr

        probability: np.ndarray = ndtr(margin)
        return probability


@dataclass(frozen=True)
class _Rows:
    """Training rows: ``features`` (rows, columns + 1) scaled with ones, ``signs`` 1 or -1."""

    scaling: Scaling
    features: np.ndarray
    signs: np.ndarray


def _with_bias(features: np.ndarray) -> np.ndarray:
    return np.column_stack([features, np.ones(len(features))])


@dataclass(frozen=True)
class FullPosterior:
    """Gaussian weights: ``mean`` (columns,) and ``covariance`` (columns, columns)."""

    mean: np.ndarray
    covariance: np.ndarray

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """m.x / sqrt(x'Sx + 1) for rows (rows, columns); Phi of it is the chance of a 1."""
        from runner.models.kernels.expectation_propagation import full_scores

        result = np.empty(len(rows))
        full_scores(rows, self.mean, self.covariance, result)
        return result


@dataclass(frozen=True)
class IndependentPosterior:
    """Independent Gaussian weights: ``mean`` and ``variance``, (columns,)."""

    mean: np.ndarray
    variance: np.ndarray

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """As ``FullPosterior.scores``."""
        from runner.models.kernels.expectation_propagation import independent_scores

        result = np.empty(len(rows))
        independent_scores(rows, self.mean, self.variance, result)
        return result


@dataclass
class FullSites:
    """Sites of expectation propagation with the full covariance; the kernel says what is what."""

    rows: np.ndarray
    signs: np.ndarray
    precisions: np.ndarray
    shifts: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, signs: np.ndarray) -> FullSites:
        """Sites without effect, at the prior."""
        count, columns = rows.shape
        return cls(
            rows, signs, np.zeros(count), np.zeros(count), np.zeros(columns), np.eye(columns)
        )

    def sweep(self) -> float:
        """Refine every site once; how far one moved at most."""
        from runner.models.kernels.expectation_propagation import full_sweep

        return full_sweep(
            self.rows, self.signs, self.precisions, self.shifts, self.mean, self.covariance
        )

    def posterior(self) -> FullPosterior:
        """The weights' distribution now."""
        return FullPosterior(self.mean.copy(), self.covariance.copy())


@dataclass
class IndependentSites:
    """Sites of expectation propagation with independent weights."""

    rows: np.ndarray
    signs: np.ndarray
    precisions: np.ndarray
    shifts: np.ndarray
    precision: np.ndarray
    shift: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, signs: np.ndarray) -> IndependentSites:
        """Sites without effect, at the prior."""
        columns = rows.shape[1]
        return cls(
            rows,
            signs,
            np.zeros(rows.shape),
            np.zeros(rows.shape),
            np.ones(columns),
            np.zeros(columns),
        )

    def sweep(self) -> float:
        """As ``FullSites.sweep``."""
        from runner.models.kernels.expectation_propagation import independent_sweep

        return independent_sweep(
            self.rows, self.signs, self.precisions, self.shifts, self.precision, self.shift
        )

    def posterior(self) -> IndependentPosterior:
        """The weights' distribution now."""
        return IndependentPosterior(self.shift / self.precision, 1 / self.precision)


def _estimator(configuration: Mapping[str, Any], *, seed: int, threads: int) -> BayesPointMachine:
    return BayesPointMachine(**configuration)


def _cost(configuration: Mapping[str, Any], rows: int, columns: int) -> float:
    # Full sweeps settle after about ten; independent ones take what they are given.
    if columns > FULL_COLUMNS:
        return float(configuration["iterations"] * rows * (5e-8 + 4.2e-9 * columns))
    sweeps = min(configuration["iterations"], 10)
    return float(sweeps * rows * (1.2e-7 + 3e-10 * columns * columns))


BAYES_POINT_MACHINE = Family(
    name="C-BPM",
    version=1,
    libraries=("numpy",),
    parameters=PARAMETERS,
    shared=("iterations",),
    descending=False,
    linear=True,
    estimator=_estimator,
    cost=_cost,
    preload=("runner.models.kernels.expectation_propagation",),
    seeded=False,
    order_free=True,
)
