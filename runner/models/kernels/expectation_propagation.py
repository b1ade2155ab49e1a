"""Expectation propagation for a probit likelihood with Gaussian weights (the Bayes point machine).

Row i's likelihood Phi(y_i w.x_i) is replaced by a Gaussian site; a sweep refines all sites in the
rows' order. ``rows`` is (rows, columns), ``signs`` (rows,) 1 or -1, the prior of each weight is
N(0, 1), and the noise of w.x has variance 1.
"""

from __future__ import annotations

import math

import numpy as np

from runner.models.kernels.compiled import kernel

_ROOT_TWO = math.sqrt(2.0)
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)
_SERIES_BELOW = -25.0


@kernel("UniTuple(float64, 2)(float64)")
def probit_ratios(z: float) -> tuple[float, float]:
    """r = phi(z)/Phi(z), the slope of log Phi(z), and r (z + r), its curvature's size, in [0, 1].

    Far below 0 both come from the asymptotic series in 1/z^2: z + r would cancel.
    """
    if z < _SERIES_BELOW:
        u = 1.0 / (z * z)
        tail = 1.0 + u * (-2.0 + u * (10.0 + u * (-74.0 + u * (706.0 + u * -8162.0))))
        # r = -z (1 + u tail) and z + r = -z u tail.
        return -z * (1.0 + u * tail), (1.0 + u * tail) * tail
    ratio = math.exp(-0.5 * z * z) / (_ROOT_TWO_PI * 0.5 * math.erfc(-z / _ROOT_TWO))
    return ratio, ratio * (z + ratio)


@kernel("UniTuple(float64, 2)(float64, float64, float64)")
def likelihood(sign: float, mean: float, variance: float) -> tuple[float, float]:
    """Slope and the size of curvature of log E[Phi(sign s)] in the mean of s ~ N(mean, variance).

    Matching moments gives s the mean ``mean + variance * slope`` and the variance
    ``variance - variance^2 * curvature``.
    """
    spread = math.sqrt(variance + 1.0)
    ratio, curved = probit_ratios(sign * mean / spread)
    return sign * ratio / spread, curved / (variance + 1.0)


@kernel(
    "float64(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[::1],"
    " float64[:, ::1])"
)
def full_sweep(
    rows: np.ndarray,
    signs: np.ndarray,
    precisions: np.ndarray,
    shifts: np.ndarray,
    mean: np.ndarray,
    covariance: np.ndarray,
) -> float:
    """One sweep with a full covariance, O(columns^2) a row.

    Site i is exp(shift s - precision s^2/2) of s = w.x_i. The covariance's change by one site is
    made while the next one reads it: it then passes through the processor once a row.

    Args:
        precisions: (rows,), the sites' precisions.
        shifts: (rows,), the sites' precisions times means.
        mean: (columns,), of the posterior.
        covariance: (columns, columns), of the posterior.

    Returns:
        How far the site that moved most moved in precision or shift.
    """
    columns = rows.shape[1]
    product, changed = np.zeros(columns), np.zeros(columns)
    factor, farthest = 0.0, 0.0
    for index in range(len(rows)):
        row = rows[index]
        product, changed = changed, product
        product[:] = 0.0
        for i in range(columns):
            drop, x = factor * changed[i], row[i]
            for j in range(columns):
                covariance[i, j] -= drop * changed[j]
                product[j] += x * covariance[i, j]
        factor = 0.0
        variance, mean_here = 0.0, 0.0
        for j in range(columns):
            variance += row[j] * product[j]
            mean_here += row[j] * mean[j]
        remaining = 1.0 - precisions[index] * variance
        # Rounding alone can leave nothing of the variance once the site is taken out.
        if remaining <= 0.0:
            continue
        cavity_mean = (mean_here - shifts[index] * variance) / remaining
        cavity_variance = variance / remaining
        slope, curvature = likelihood(signs[index], cavity_mean, cavity_variance)
        left = 1.0 - cavity_variance * curvature
        moved = curvature / left - precisions[index]
        shifted = (slope + cavity_mean * curvature) / left - shifts[index]
        precisions[index] += moved
        shifts[index] += shifted
        farthest = max(farthest, abs(moved), abs(shifted))
        factor = moved / (1.0 + moved * variance)
        step = (shifted - moved * mean_here) / (1.0 + moved * variance)
        for j in range(columns):
            mean[j] += step * product[j]
    for i in range(columns):
        for j in range(columns):
            covariance[i, j] -= factor * product[i] * product[j]
    return farthest


@kernel(
    "float64(float64[:, ::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[::1],"
    " float64[::1])"
)
def independent_sweep(
    rows: np.ndarray,
    signs: np.ndarray,
    precisions: np.ndarray,
    shifts: np.ndarray,
    precision: np.ndarray,
    shift: np.ndarray,
) -> float:
    """One sweep with independent weights, O(columns) a row.

    Args:
        precisions: (rows, columns), each site's precision on each weight.
        shifts: (rows, columns), the same times the means.
        precision: (columns,), of the posterior.
        shift: (columns,), the posterior's precision times mean.

    Returns:
        How far the site that moved most moved in precision or shift.
    """
    columns = rows.shape[1]
    means, variances = np.empty(columns), np.empty(columns)
    farthest = np.zeros(columns)
    for index in range(len(rows)):
        row = rows[index]
        for j in range(columns):
            variances[j] = 1.0 / (precision[j] - precisions[index, j])
            means[j] = (shift[j] - shifts[index, j]) * variances[j]
        mean_here, variance = 0.0, 0.0
        for j in range(columns):
            mean_here += row[j] * means[j]
            variance += row[j] * row[j] * variances[j]
        slope, curvature = likelihood(signs[index], mean_here, variance)
        for j in range(columns):
            x = row[j]
            left = 1.0 - curvature * x * x * variances[j]
            moved = curvature * x * x / left - precisions[index, j]
            shifted = x * (slope + curvature * x * means[j]) / left - shifts[index, j]
            precisions[index, j] += moved
            shifts[index, j] += shifted
            precision[j] += moved
            shift[j] += shifted
            farthest[j] = max(farthest[j], abs(moved), abs(shifted))
    return float(farthest.max())


@kernel(
    "void(float64[:, ::1], Array(float64, 1, 'C', readonly=True),"
    " Array(float64, 2, 'C', readonly=True), float64[::1])"
)
def full_scores(
    rows: np.ndarray, mean: np.ndarray, covariance: np.ndarray, result: np.ndarray
) -> None:
    """m.x / sqrt(x'Sx + 1) of each row, whose Phi is the predictive probability."""
    columns = rows.shape[1]
    product = np.empty(columns)
    for index in range(len(rows)):
        row = rows[index]
        product[:] = 0.0
        for i in range(columns):
            x = row[i]
            for j in range(columns):
                product[j] += x * covariance[i, j]
        location, variance = 0.0, 0.0
        for j in range(columns):
            location += row[j] * mean[j]
            variance += row[j] * product[j]
        result[index] = location / math.sqrt(max(variance, 0.0) + 1.0)


@kernel(
    "void(float64[:, ::1], Array(float64, 1, 'C', readonly=True),"
    " Array(float64, 1, 'C', readonly=True), float64[::1])"
)
def independent_scores(
    rows: np.ndarray, mean: np.ndarray, variances: np.ndarray, result: np.ndarray
) -> None:
    """As ``full_scores``, with a diagonal S."""
    for index in range(len(rows)):
        location, variance = 0.0, 0.0
        for j in range(rows.shape[1]):
            location += rows[index, j] * mean[j]
            variance += rows[index, j] * rows[index, j] * variances[j]
        result[index] = location / math.sqrt(variance + 1.0)
