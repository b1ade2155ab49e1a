"""The step of greedy ensemble selection: which models, added to an ensemble, give the best AUC.

The AUC of a candidate counts pairs of a positive and a negative row. Rows that fall into different
bins of a fine histogram are ordered by it, so one pass over the rows leaves open only the pairs
within a bin: it bounds the AUC from both sides. The bound alone rules most candidates out, and only
the others' pairs within bins are compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from runner.models.kernels.compiled import kernel

Number = Any
"""A scalar: its type stands in the kernel's signature."""

_FEW = 32
"""Pairs within a bin, per row of it, that are compared one by one rather than after sorting."""


@kernel("void(float64[::1], float64[::1], float64, float64, float64, int32[::1])")
def assign(
    total: np.ndarray,
    added: np.ndarray,
    size: Number,
    lowest: Number,
    scale: Number,
    bins: np.ndarray,
) -> None:
    """The bins of the mean confidences; each operation keeps the order of the rows."""
    for row in range(len(total)):
        mean = (total[row] + added[row]) / size
        bins[row] = np.int32((mean - lowest) * scale)


@kernel("Tuple((int64, int64))(int32[::1], int64, int32[::1], int32[::1])")
def bounded(
    bins: np.ndarray, positives: Number, upper: np.ndarray, lower: np.ndarray
) -> tuple[Number, Number]:
    """Twice the pairs that bins put right, and twice those within bins; the histograms are zeros.

    Args:
        bins: (rows,), the positive rows first.
        positives: How many these are.
        upper: (bins,), zeros, for the positive rows' histogram; zeros again afterwards.
        lower: (bins,), the same for the negative rows.
    """
    for row in range(positives):
        upper[bins[row]] += 1
    for row in range(positives, len(bins)):
        lower[bins[row]] += 1
    below, ordered, open_ = np.int64(0), np.int64(0), np.int64(0)
    for place in range(len(upper)):
        here = np.int64(upper[place])
        there = np.int64(lower[place])
        ordered += here * below
        open_ += here * there
        below += there
        upper[place] = 0
        lower[place] = 0
    return 2 * ordered, 2 * open_


@kernel("int64(float64[::1], float64[::1])")
def compared(upper: np.ndarray, lower: np.ndarray) -> Number:
    """Twice the pairs in which the upper value is larger, and once those in which it is equal."""
    halves = np.int64(0)
    if len(upper) * len(lower) <= _FEW * (len(upper) + len(lower)):
        for high in upper:
            for low in lower:
                halves += (low < high) + (low <= high)
        return halves
    upper.sort()
    lower.sort()
    under, up_to = 0, 0
    for high in upper:
        while under < len(lower) and lower[under] < high:
            under += 1
        while up_to < len(lower) and lower[up_to] <= high:
            up_to += 1
        halves += under + up_to
    return halves


@kernel(
    "int64(float64[::1], float64[::1], float64, int32[::1], int64, int32[::1], int32[::1], "
    "float64[::1])"
)
def within(
    total: np.ndarray,
    added: np.ndarray,
    size: Number,
    bins: np.ndarray,
    positives: Number,
    upper: np.ndarray,
    lower: np.ndarray,
    values: np.ndarray,
) -> Number:
    """What pairs within bins add to twice the ordered pairs; histograms as in ``bounded``."""
    rows = len(bins)
    for row in range(positives):
        upper[bins[row]] += 1
    for row in range(positives, rows):
        lower[bins[row]] += 1
    # Where each bin's rows go: the positive ones to the front of ``values``.
    high, low = 0, positives
    for place in range(len(upper)):
        here, there = upper[place], lower[place]
        upper[place], lower[place] = high, low
        high += here
        low += there
    for row in range(positives):
        place = bins[row]
        values[upper[place]] = (total[row] + added[row]) / size
        upper[place] += 1
    for row in range(positives, rows):
        place = bins[row]
        values[lower[place]] = (total[row] + added[row]) / size
        lower[place] += 1
    halves = np.int64(0)
    high, low = 0, positives
    for place in range(len(upper)):
        if upper[place] > high and lower[place] > low:
            halves += compared(values[high : upper[place]], values[low : lower[place]])
        high, low = upper[place], lower[place]
        upper[place] = 0
        lower[place] = 0
    return halves


@kernel("Tuple((float64, float64))(float64[::1], float64[::1], float64, int64)")
def laid(
    span: np.ndarray, added_span: np.ndarray, size: Number, resolution: Number
) -> tuple[Number, Number]:
    """Where the bins begin and how many there are in a unit; 0 puts all rows into the first."""
    lowest = (span[0] + added_span[0]) / size
    width = (span[1] + added_span[1]) / size - lowest
    scale = (resolution - 1) / width if width > 1e-290 else 0.0
    return lowest, scale


@kernel(
    "void(float64[:, ::1], float64[:, :, ::1], float64, int64[::1], float64[::1], float64, "
    "float64[:, ::1], float64[:, :, ::1], int64, float64, float64[::1])"
)
def step(
    total: np.ndarray,
    added: np.ndarray,
    size: Number,
    positives: np.ndarray,
    halves: np.ndarray,
    divisor: Number,
    spans: np.ndarray,
    added_spans: np.ndarray,
    resolution: Number,
    slack: Number,
    scores: np.ndarray,
) -> None:
    """The AUC of the ensemble with each model added, exact for all that may be the best.

    Args:
        total: (classes, rows), the confidences summed over the ensemble so far, for each class
            with its own rows first; one class where there are two, which mirror each other.
        added: (models, classes, rows), the models' confidences in the same order of rows.
        size: The size of the ensemble with a model added.
        positives: (classes,), how many rows come first.
        halves: (classes,), what twice a class's ordered pairs are divided by.
        divisor: What the sum over the classes is divided by.
        spans: (classes, 2), the least and the greatest value of ``total``.
        added_spans: (models, classes, 2), the same of ``added``.
        resolution: How many bins.
        slack: How far below the best a score is still wanted.
        scores: (models,), filled: the exact AUC, or -1 where it is further below another one.
    """
    models, classes, rows = added.shape
    ordered = np.empty((models, classes), dtype=np.int64)
    open_ = np.empty((models, classes), dtype=np.int64)
    most = np.empty(models, dtype=np.float64)
    middle = np.empty(models, dtype=np.float64)
    bins = np.empty(rows, dtype=np.int32)
    values = np.empty(rows, dtype=np.float64)
    upper = np.zeros(resolution, dtype=np.int32)
    lower = np.zeros(resolution, dtype=np.int32)
    best: Number = -1.0
    for model in range(models):
        least, greatest = 0.0, 0.0
        for one in range(classes):
            lowest, scale = laid(spans[one], added_spans[model, one], size, resolution)
            assign(total[one], added[model, one], size, lowest, scale, bins)
            sure, unsure = bounded(bins, positives[one], upper, lower)
            ordered[model, one], open_[model, one] = sure, unsure
            least += sure / halves[one]
            greatest += (sure + unsure) / halves[one]
        most[model] = greatest / divisor
        middle[model] = least + greatest
        best = max(best, least / divisor)
    scores[:] = -1.0
    for model in np.argsort(-middle):
        # Every operation above rises with its arguments, so a bound stays one when it is rounded.
        if most[model] < best - slack:
            continue
        # The classes with the most to decide first, for as long as it can still be the best.
        reached = most[model]
        for _ in range(classes):
            if reached < best - slack:
                break
            widest: Number = np.argmax(open_[model] / halves)
            if open_[model, widest] > 0:
                lowest, scale = laid(spans[widest], added_spans[model, widest], size, resolution)
                assign(total[widest], added[model, widest], size, lowest, scale, bins)
                ordered[model, widest] += within(
                    total[widest],
                    added[model, widest],
                    size,
                    bins,
                    positives[widest],
                    upper,
                    lower,
                    values,
                )
                open_[model, widest] = 0
            greatest = 0.0
            for other in range(classes):
                greatest += (ordered[model, other] + open_[model, other]) / halves[other]
            reached = greatest / divisor
        if reached >= best - slack:
            scores[model] = reached
            best = max(best, reached)
