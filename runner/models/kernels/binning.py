"""Bins of columns: where to cut, and the bin of each value."""

from __future__ import annotations

import numpy as np

from runner.models.kernels.compiled import kernel

BLOCK = 128


@kernel("int64(float64[::1], float64[::1])")
def learn(values: np.ndarray, cuts: np.ndarray) -> int:
    """Cut a column into bins of about equal numbers of rows.

    With no more distinct values than bins each value has its own. Otherwise a value that would
    fill a bin alone has its own, and the other bins share the other rows evenly.

    Args:
        values: (rows,), sorted.
        cuts: (bins - 1,), filled: bin i holds values above cut i - 1 and up to cut i.

    Returns:
        The number of cuts made; the rest of ``cuts`` is infinite.
    """
    cuts[:] = np.inf
    rows, bins = len(values), len(cuts) + 1
    starts = np.empty(rows + 1, dtype=np.int64)
    distinct = 0
    for row in range(rows):
        if row == 0 or values[row] != values[row - 1]:
            starts[distinct] = row
            distinct += 1
    starts[distinct] = rows
    sizes = np.diff(starts[: distinct + 1])
    heavy = sizes * bins >= rows
    # What is left to be put into bins, from the bin in hand on.
    heavies, light = heavy.sum(), sizes[~heavy].sum()
    made, held = 0, 0
    for value in range(distinct - 1):
        if heavy[value]:
            heavies -= 1
            full = True
        else:
            held += sizes[value]
            room = bins - made - heavies
            full = held * room >= light or (heavy[value + 1] and (room > 1 or held == light))
        if made < bins - 1 and (full or distinct <= bins):
            below, above = values[starts[value + 1] - 1], values[starts[value + 1]]
            # Halved before they are added: the sum of two large numbers may be infinite.
            middle = 0.5 * below + 0.5 * above
            cuts[made] = middle if below <= middle < above else below
            made += 1
            light -= held
            held = 0
    return made


@kernel(
    "void(Array(float64, 2, 'C', readonly=True), Array(float64, 2, 'C', readonly=True), "
    "uint8[:, ::1])"
)
def apply(X: np.ndarray, cuts: np.ndarray, codes: np.ndarray) -> None:
    """The bin of each value: the number of cuts below it.

    Args:
        X: (rows, columns).
        cuts: (columns, 63), each row ascending.
        codes: (rows, columns), filled.
    """
    # In blocks of rows a column's cuts stay in the fastest cache.
    for first in range(0, X.shape[0], BLOCK):
        last = min(first + BLOCK, X.shape[0])
        for column in range(X.shape[1]):
            for row in range(first, last):
                value = X[row, column]
                # Six halvings without branches, which would be mispredicted half the time.
                code = 32 * (cuts[column, 31] < value)
                code += 16 * (cuts[column, code + 15] < value)
                code += 8 * (cuts[column, code + 7] < value)
                code += 4 * (cuts[column, code + 3] < value)
                code += 2 * (cuts[column, code + 1] < value)
                code += cuts[column, code] < value
                codes[row, column] = code
