"""Passes of stochastic gradient descent over a linear classifier's rows, one row a step.

In all of them ``rows`` is (rows, columns) with the columns padded by noughts to a multiple of
``LANES``, ``signs`` (rows,) is 1 or -1, ``order`` the indices of the rows to visit, shuffled in
place before each pass by a generator whose ``state`` is (1,), and ``weights`` (columns + 1,) with
the intercept last. Features are single, weights and sums double precision.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from runner.models.kernels.compiled import kernel

LANES = 16
"""Partial sums of a dot product: as many as a processor's vector registers add at once."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@intrinsic  # type: ignore[untyped-decorator]
def _dot(typing_context: Any, row: types.Array, weights: types.Array) -> Any:
    """The float64 dot product of a float32 row, of a multiple of LANES columns, with weights.

    A loop's sum is serial unless its terms may be regrouped, and a compiler's grouping depends on
    the processor. Here it is fixed: column k adds to partial sum k modulo LANES, and these are
    added in halves.
    """
    signature = types.float64(row, weights)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        features = context.make_array(row)(context, builder, values[0])
        coefficients = context.make_array(weights)(context, builder, values[1])
        index, double = features.nitems.type, ir.VectorType(ir.DoubleType(), LANES)
        single = ir.VectorType(ir.FloatType(), LANES)
        before, loop = builder.block, builder.append_basic_block("columns")
        after = builder.append_basic_block("sum")
        builder.branch(loop)

        builder.position_at_end(loop)
        column, sums = builder.phi(index), builder.phi(double)
        x = builder.bitcast(builder.gep(features.data, [column]), single.as_pointer())
        w = builder.bitcast(builder.gep(coefficients.data, [column]), double.as_pointer())
        products = builder.fmul(
            builder.fpext(builder.load(x, align=4), double), builder.load(w, align=8)
        )
        added, following = builder.fadd(sums, products), builder.add(column, index(LANES))
        column.add_incoming(index(0), before)
        sums.add_incoming(ir.Constant(double, [0.0] * LANES), before)
        column.add_incoming(following, loop)
        sums.add_incoming(added, loop)
        builder.cbranch(builder.icmp_signed("<", following, features.nitems), loop, after)

        builder.position_at_end(after)
        return _added_in_halves(builder, added)

    return signature, generate


def _added_in_halves(builder: Any, sums: Any) -> Any:
    width = LANES
    while width > 1:
        width //= 2
        first, second = (
            builder.shuffle_vector(
                sums,
                sums,
                ir.Constant(
                    ir.VectorType(ir.IntType(32), width), list(range(start, start + width))
                ),
            )
            for start in (0, width)
        )
        sums = builder.fadd(first, second)
    return builder.extract_element(sums, ir.IntType(32)(0))


@kernel("void(int64[::1], uint64[::1])")
def shuffle(order: np.ndarray, state: np.ndarray) -> None:
    """Permute ``order`` (Fisher-Yates) by draws from splitmix64, whose ``state`` moves on."""
    for left in range(len(order), 1, -1):
        state[0] += _GOLDEN
        bits = state[0]
        bits = (bits ^ (bits >> np.uint64(30))) * _MIX_1
        bits = (bits ^ (bits >> np.uint64(27))) * _MIX_2
        bits ^= bits >> np.uint64(31)
        # The upper half of the bits, as a fraction of 2^32, times the number of those left.
        drawn = np.int64(((bits >> np.uint64(32)) * np.uint64(left)) >> np.uint64(32))
        order[left - 1], order[drawn] = order[drawn], order[left - 1]


@kernel(
    "float64(float32[:, ::1], float64[::1], int64[::1], uint64[::1], float64[::1], float64[::1],"
    " float64, float64, int64)"
)
def averaged_perceptron(
    rows: np.ndarray,
    signs: np.ndarray,
    order: np.ndarray,
    state: np.ndarray,
    weights: np.ndarray,
    late: np.ndarray,
    rate: float,
    seen: float,
    passes: int,
) -> float:
    """Constant-rate descent on the hinge loss.

    The mean of the weights after each step is ``weights - late / seen``: a step that comes after
    k others lacks in the first k of ``seen`` terms.

    Args:
        late: (columns + 1,), each step times the number of those before it.
        seen: Steps before this call.

    Returns:
        Steps so far.
    """
    columns = rows.shape[1]
    for _ in range(passes):
        shuffle(order, state)
        for index in order:
            row, sign = rows[index], signs[index]
            if sign * (_dot(row, weights) + weights[columns]) < 1.0:
                step = rate * sign
                delayed = step * seen
                for column in range(columns):
                    weights[column] += step * row[column]
                    late[column] += delayed * row[column]
                weights[columns] += step
                late[columns] += delayed
            seen += 1.0
    return seen


@kernel(
    "float64(float32[:, ::1], float64[::1], int64[::1], uint64[::1], float64[::1], float64,"
    " float64, int64)"
)
def pegasos(
    rows: np.ndarray,
    signs: np.ndarray,
    order: np.ndarray,
    state: np.ndarray,
    sums: np.ndarray,
    penalty: float,
    seen: float,
    passes: int,
) -> float:
    """Descent on the hinge loss + penalty/2 |w|^2 with rate 1/(1 + penalty t) at step t.

    Shrinking by 1 - penalty/(1 + penalty t) at every step multiplies up to 1/(1 + penalty t), and
    the rate at t is that very factor: the weights after t steps are the plain sum of the rows
    that were within the margin, each with its sign, over 1 + penalty t.

    Args:
        sums: (columns + 1,), that sum, and the intercept itself, which doesn't shrink.
        seen: Steps before this call.

    Returns:
        Steps so far.
    """
    columns = rows.shape[1]
    for _ in range(passes):
        shuffle(order, state)
        for index in order:
            row, sign = rows[index], signs[index]
            shrunk = 1.0 + penalty * seen
            seen += 1.0
            if sign * (_dot(row, sums) + sums[columns] * shrunk) < shrunk:
                for column in range(columns):
                    sums[column] += sign * row[column]
                sums[columns] += sign / (1.0 + penalty * seen)
    return seen


@kernel(
    "void(float32[:, ::1], float64[::1], int64[::1], uint64[::1], float64[::1], float64, float64,"
    " int64)"
)
def logistic_regression(
    rows: np.ndarray,
    signs: np.ndarray,
    order: np.ndarray,
    state: np.ndarray,
    weights: np.ndarray,
    rate: float,
    penalty: float,
    passes: int,
) -> None:
    """Constant-rate descent on the log-loss + penalty/2 |w|^2.

    The penalty's step is implicit, a division by 1 + rate penalty: stable for any penalty.
    """
    columns = rows.shape[1]
    kept = 1.0 / (1.0 + rate * penalty)
    for _ in range(passes):
        shuffle(order, state)
        for index in order:
            row, sign = rows[index], signs[index]
            margin = sign * (_dot(row, weights) + weights[columns])
            # 1 / (1 + exp(margin)) with an exponent that can't overflow.
            small = math.exp(-abs(margin))
            wrong = (small if margin > 0.0 else 1.0) / (1.0 + small)
            step = rate * sign * wrong
            for column in range(columns):
                weights[column] = kept * (weights[column] + step * row[column])
            weights[columns] += step


@kernel("float64(float32[:, ::1], float64[::1], int64[::1], float64[::1])")
def log_loss(rows: np.ndarray, signs: np.ndarray, order: np.ndarray, weights: np.ndarray) -> float:
    """The mean log-loss of the rows that ``order`` names."""
    total = 0.0
    for index in order:
        margin = signs[index] * (_dot(rows[index], weights) + weights[rows.shape[1]])
        total += max(-margin, 0.0) + math.log1p(math.exp(-abs(margin)))
    return total / len(order)


@kernel("void(float64[:, ::1], Array(float64, 1, 'C', readonly=True), float64, float64[::1])")
def margins(rows: np.ndarray, weights: np.ndarray, intercept: float, result: np.ndarray) -> None:
    """Margins (rows,) of double precision rows (rows, columns), summed column after column.

    A library's product sums in an order that depends on the processor and the threads.
    """
    for index in range(len(rows)):
        total = intercept
        for column in range(rows.shape[1]):
            total += rows[index, column] * weights[column]
        result[index] = total
