"""C-BPM against published figures, exact integrals, importance sampling and other algebra."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from sklearn.preprocessing import StandardScaler

from runner.metrics import auc
from runner.models import bayes_point_machine
from runner.models.bayes_point_machine import (
    BayesPointMachine,
    FullPosterior,
    FullSites,
    IndependentPosterior,
    IndependentSites,
)
from runner.models.kernels.expectation_propagation import likelihood, probit_ratios

Data = tuple[np.ndarray, np.ndarray]


def settled(sites: FullSites | IndependentSites, sweeps: int) -> FullPosterior:
    for _ in range(sweeps):
        if sites.sweep() < 1e-10:
            break
    return sites.posterior()


def tutorial() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Infer.NET's example; dividing rows by the noise's deviation makes its variance 1."""
    income, age = [63, 16, 28, 55, 22, 20], [38, 23, 40, 27, 18, 40]
    rows = np.column_stack([income, age, np.ones(6)]) / np.sqrt(0.1)
    later = np.array([[58, 36, 1], [18, 24, 1], [22, 37, 1]]) / np.sqrt(0.1)
    return rows, np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0]), later


def test_gives_the_published_probabilities() -> None:
    rows, signs, later = tutorial()
    chances = ndtr(settled(FullSites.of(rows, signs), 30).scores(later))
    np.testing.assert_allclose(chances, [0.95551, 0.15655, 0.28705], atol=5e-6)
    np.testing.assert_allclose(chances, [0.9555, 0.1565, 0.287], atol=6e-5)


def test_independent_weights_give_another_model() -> None:
    rows, signs, later = tutorial()
    chances = ndtr(settled(IndependentSites.of(rows, signs), 30).scores(later))
    np.testing.assert_allclose(chances, [0.956, 0.239, 0.361], atol=5e-4)


@pytest.mark.parametrize("kind", [FullSites, IndependentSites])
def test_one_point_has_the_exact_moments(kind: type[FullSites] | type[IndependentSites]) -> None:
    posterior = settled(kind.of(np.ones((1, 1)), np.ones(1)), 30)
    spread = posterior.covariance if isinstance(posterior, FullPosterior) else posterior.variance
    assert posterior.mean[0] == pytest.approx(1 / np.sqrt(np.pi), rel=1e-12)
    assert spread.item() == pytest.approx(1 - 1 / np.pi, rel=1e-12)


def test_one_weight_is_the_same_in_both_kinds() -> None:
    rng = np.random.default_rng(0)
    rows, signs = rng.normal(size=(40, 1)), np.sign(rng.normal(size=40) + 0.3)
    full = settled(FullSites.of(rows, signs), 50)
    independent = settled(IndependentSites.of(rows, signs), 50)
    np.testing.assert_allclose(full.mean, independent.mean, rtol=1e-9)
    np.testing.assert_allclose(full.covariance[0], independent.variance, rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_importance_sampling(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=(12, 2)), np.ones(12)])
    signs = np.sign(rows @ [1.0, -0.5, 0.3] + rng.normal(size=12))
    drawn = rng.normal(size=(300_000, 3))
    weight = np.exp(log_ndtr(signs * (drawn @ rows.T)).sum(axis=1))
    weight /= weight.sum()
    later = np.column_stack([rng.normal(size=(20, 2)), np.ones(20)])
    posterior = settled(FullSites.of(rows, signs), 50)
    mean = weight @ drawn
    covariance = (drawn * weight[:, None]).T @ drawn - np.outer(mean, mean)
    # The approximation itself is off by as much: it takes the tails for a Gaussian's.
    np.testing.assert_allclose(posterior.mean, mean, atol=0.02)
    np.testing.assert_allclose(posterior.covariance, covariance, atol=0.03)
    chances = weight @ ndtr(drawn @ later.T)
    np.testing.assert_allclose(ndtr(posterior.scores(later)), chances, atol=0.01)


def test_equals_updates_that_invert_matrices(breast_cancer: Data) -> None:
    """The posterior from all sites at once, after every update of one of them."""
    X, y = breast_cancer[0][:60, :6], breast_cancer[1][:60]
    rows = np.column_stack([StandardScaler().fit_transform(X), np.ones(len(X))])
    signs = np.where(y == 1, 1.0, -1.0)
    precision, shift = np.zeros(60), np.zeros(60)
    for _ in range(5):
        for i in range(60):
            keep = np.arange(60) != i
            covariance = np.linalg.inv(np.eye(7) + (rows[keep].T * precision[keep]) @ rows[keep])
            mean = covariance @ rows[keep].T @ shift[keep]
            m, v = rows[i] @ mean, rows[i] @ covariance @ rows[i]
            z = signs[i] * m / np.sqrt(v + 1)
            r = np.exp(-z * z / 2 - log_ndtr(z)) / np.sqrt(2 * np.pi)
            new_mean = m + signs[i] * v * r / np.sqrt(v + 1)
            new_variance = v - v * v * r * (z + r) / (v + 1)
            precision[i] = 1 / new_variance - 1 / v
            shift[i] = new_mean / new_variance - m / v
    covariance = np.linalg.inv(np.eye(7) + (rows.T * precision) @ rows)
    ours = BayesPointMachine(iterations=5).fit(X, y).posterior_
    assert isinstance(ours, FullPosterior)
    np.testing.assert_allclose(ours.mean, covariance @ rows.T @ shift, rtol=1e-8)
    np.testing.assert_allclose(ours.covariance, covariance, rtol=1e-8, atol=1e-12)


def test_the_order_of_rows_does_not_matter_once_settled(real: Data) -> None:
    X, y = real
    shuffled = np.random.default_rng(0).permutation(len(y))
    margin = BayesPointMachine(iterations=200).fit(X, y).decision_function(X)
    again = BayesPointMachine(iterations=200).fit(X[shuffled], y[shuffled]).decision_function(X)
    np.testing.assert_allclose(margin, again, atol=1e-6)


def test_the_grids_sweeps_suffice(real: Data) -> None:
    X, y = real
    fitted = BayesPointMachine().fit(X, y)
    assert fitted.n_iter_ <= 30
    longer = BayesPointMachine(iterations=300).fit(X, y)
    np.testing.assert_allclose(fitted.decision_function(X), longer.decision_function(X), atol=1e-4)


def test_probabilities_are_the_normal_distribution_of_the_margin(breast_cancer: Data) -> None:
    X, y = breast_cancer
    fitted = BayesPointMachine().fit(X, y)
    posterior = fitted.posterior_
    assert isinstance(posterior, FullPosterior)
    Z = np.column_stack([StandardScaler().fit_transform(X), np.ones(len(y))])
    variance = np.einsum("ij,jk,ik->i", Z, posterior.covariance, Z)
    expected = ndtr(Z @ posterior.mean / np.sqrt(variance + 1))
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], expected, rtol=1e-9)


def test_many_columns_have_independent_weights(breast_cancer: Data) -> None:
    X, y = breast_cancer
    wide = np.column_stack([X, np.random.default_rng(0).normal(size=(len(y), 490))])
    assert isinstance(
        BayesPointMachine(iterations=2).fit(wide[:, :512], y).posterior_, FullPosterior
    )
    fitted = BayesPointMachine().fit(wide[::2], y[::2])
    assert isinstance(fitted.posterior_, IndependentPosterior)
    assert np.isfinite(fitted.decision_function(wide)).all()
    assert auc(y[1::2].astype(np.uint8), fitted.decision_function(wide[1::2])) > 0.9


def test_independent_weights_are_a_good_model_too(
    real: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = real
    full = BayesPointMachine().fit(X, y).decision_function(X)
    monkeypatch.setattr(bayes_point_machine, "FULL_COLUMNS", 0)
    independent = BayesPointMachine().fit(X, y).decision_function(X)
    label = y.astype(np.uint8)
    assert auc(label, independent) == pytest.approx(auc(label, full), abs=0.05)


def continued_fraction(x: float) -> float:
    """z + phi(z)/Phi(z) at z = -x, by Laplace's fraction for Mills' ratio."""
    tail = 0.0
    for term in range(400, 0, -1):
        tail = term / (x + tail)
    return tail


@pytest.mark.parametrize("x", [3, 10, 24.999, 25.001, 36, 40, 1e3, 1e8, 1e20])
def test_ratios_far_below_nought(x: float) -> None:
    excess = continued_fraction(x)
    ratio, curvature = probit_ratios(-x)
    assert ratio == pytest.approx(x + excess, rel=1e-11)
    assert curvature == pytest.approx((x + excess) * excess, rel=1e-9)
    assert 0 < curvature <= 1


@pytest.mark.parametrize("z", [-24.0, -3.0, -0.5, 0.0, 0.5, 3.0, 8.0, 40.0])
def test_ratios_are_derivatives(z: float) -> None:
    ratio, curvature = probit_ratios(z)
    h = 1e-3
    up, here, down = log_ndtr(z + h), log_ndtr(z), log_ndtr(z - h)
    assert ratio == pytest.approx((up - down) / (2 * h), rel=1e-5, abs=1e-12)
    assert curvature == pytest.approx(-(up - 2 * here + down) / h**2, rel=1e-4, abs=1e-8)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("mean", "variance"), [(0.0, 1.0), (-2.0, 0.3), (1.5, 4.0)])
def test_matched_moments_are_those_of_the_product(
    sign: float, mean: float, variance: float
) -> None:
    s = np.linspace(mean - 12 * np.sqrt(variance), mean + 12 * np.sqrt(variance), 200_001)
    density = np.exp(-((s - mean) ** 2) / (2 * variance)) * ndtr(sign * s)
    density /= density.sum()
    first = density @ s
    slope, curvature = likelihood(sign, mean, variance)
    assert mean + variance * slope == pytest.approx(first, abs=1e-9)
    assert variance - variance**2 * curvature == pytest.approx(density @ (s - first) ** 2, abs=1e-9)
