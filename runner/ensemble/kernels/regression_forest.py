"""A forest of regression trees with many outputs, as scikit-learn's RandomForestRegressor grows.

Trees are grown on bags of rows until nothing differs, all features are tried at every node, and a
cut lies half-way between neighbouring values. A node costs one pass over its rows for each feature.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from runner.models.kernels.compiled import kernel

Number = Any
"""A scalar: its type stands in the kernel's signature."""

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)

FEATURE, LEFT, START, STOP = range(4)
"""A node's fields while its tree grows. FEATURE is -1 at a leaf; the rows that reach a node stand
from START to STOP among its tree's; the right child follows the left one."""

LANES = 8
"""The targets' columns are a multiple of this."""


@intrinsic  # type: ignore[untyped-decorator]
def _project_and_add(
    context: Any, sum_: Any, targets: Any, row: Any, times: Any, blocks: Any
) -> Any:
    """The product of a sum of targets with a row's; then the row's are added, some times.

    LLVM's loops don't use vectors for a product, whose additions they would have to reorder. Here
    the order is that of ``LANES`` sums, one a lane, on every processor.
    """
    vector = ir.VectorType(ir.DoubleType(), LANES)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sum_, targets, row, times, blocks = arguments
        sums = _vectors(context, builder, signature.args[0], sum_, vector)
        rows = _vectors(context, builder, signature.args[1], targets, vector)
        first = builder.mul(row, blocks)
        factor = _spread(builder, times, vector)
        products = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * LANES))
        with cgutils.for_range(builder, blocks, intp=blocks.type) as loop:
            place = builder.gep(sums, [loop.index])
            here = builder.load(place, align=8)
            target = builder.load(builder.gep(rows, [builder.add(first, loop.index)]), align=8)
            product = builder.fmul(here, target)
            builder.store(builder.fadd(builder.load(products), product), products)
            builder.store(builder.fadd(here, builder.fmul(factor, target)), place, align=8)
        return _folded(builder, builder.load(products))

    return types.float64(sum_, targets, types.int64, types.float64, types.int64), emit


def _vectors(context: Any, builder: Any, kind: Any, array: Any, vector: Any) -> Any:
    """An array's data as vectors."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(data, vector.as_pointer())


def _spread(builder: Any, number: Any, vector: Any) -> Any:
    """A vector of the same number."""
    spread = ir.Constant(vector, ir.Undefined)
    for lane in range(LANES):
        spread = builder.insert_element(spread, number, ir.Constant(ir.IntType(32), lane))
    return spread


def _folded(builder: Any, vector: Any) -> Any:
    """The sum of a vector's lanes, by halves."""
    lanes = [
        builder.extract_element(vector, ir.Constant(ir.IntType(32), lane)) for lane in range(LANES)
    ]
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [builder.fadd(lanes[lane], lanes[lane + half]) for lane in range(half)]
    return lanes[0]


@kernel("uint64(uint64)")
def mix(state: Number) -> Number:
    """SplitMix64's output function (Steele, Lea & Flood 2014)."""
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel(
    "Tuple((float64, int64))(float64[::1], int32[::1], float64[:, ::1], float64[::1], "
    "float64[::1], int32[::1], float64, float64, float64[::1], float64)"
)
def best_cut(
    values: np.ndarray,
    rows: np.ndarray,
    targets: np.ndarray,
    norms: np.ndarray,
    along: np.ndarray,
    copies: np.ndarray,
    weight: Number,
    norm: Number,
    left: np.ndarray,
    best: Number,
) -> tuple[Number, Number]:
    """The best cut of a feature: the one that leaves the least squared deviation.

    That is the greatest sum of the squared norms of both sides' sums over their weights.

    Args:
        values: (n,), the feature's.
        rows: The node's, ascending by value.
        targets: (n, outputs).
        norms: (n,), the targets' squared norms.
        along: (n,), the products of the targets with their sum over the node.
        copies: (n,), how often a row is in the bag.
        weight: How many rows the node has, copies counted.
        norm: The squared norm of the sum over the node.
        left: (outputs,), working space.
        best: What is to be exceeded.

    Returns:
        What is reached, and the place among the rows of the last one on the left; -1 for none.
    """
    cut: Number = np.int64(-1)
    left[:] = 0.0
    blocks = len(left) // LANES
    count, square, projection = 0.0, 0.0, 0.0
    for place in range(len(rows) - 1):
        row = rows[place]
        times = float(copies[row])
        product = _project_and_add(left, targets, row, times, blocks)
        square += times * (2.0 * product + times * norms[row])
        projection += times * along[row]
        count += times
        if values[rows[place + 1]] <= values[row]:
            continue
        rest = norm - 2.0 * projection + square
        reached = square / count + rest / (weight - count)
        if reached > best:
            best = reached
            cut = place
    return best, cut


@kernel("void(int32[::1], boolean[::1], int32[::1])")
def part(rows: np.ndarray, goes_left: np.ndarray, moved: np.ndarray) -> None:
    """Put the rows that go left first, and keep the order on both sides."""
    kept, away = 0, 0
    for place in range(len(rows)):
        row = rows[place]
        if goes_left[row]:
            rows[kept] = row
            kept += 1
        else:
            moved[away] = row
            away += 1
    rows[kept:] = moved[:away]


@kernel(
    "int64(float64[:, ::1], int32[:, ::1], float64[:, ::1], float64[::1], int32[::1], uint64, "
    "int32[:, ::1], float64[::1], int32[::1])"
)
def grow(
    values: np.ndarray,
    ascending: np.ndarray,
    targets: np.ndarray,
    norms: np.ndarray,
    copies: np.ndarray,
    seed: Number,
    nodes: np.ndarray,
    cuts: np.ndarray,
    rows: np.ndarray,
) -> Number:
    """Grow one tree.

    Args:
        values: (features, n).
        ascending: (features, n), the rows by each feature's value.
        targets: (n, outputs).
        norms: (n,), the targets' squared norms.
        copies: (n,), how often the bag has a row.
        seed: Of the order in which a node tries the features: the first of equals is taken.
        nodes: (2 n, 4), filled.
        cuts: (2 n,), filled: a row goes left where its value is at most that.
        rows: (n,), filled: the bag's distinct rows.

    Returns:
        How many nodes there are.
    """
    features, n = values.shape
    sorted_ = np.empty((features, n), dtype=np.int32)
    size = 0
    for feature in range(features):
        size = 0
        for row in ascending[feature]:
            if copies[row] > 0:
                sorted_[feature, size] = row
                size += 1
    total = np.empty(targets.shape[1])
    left = np.empty(targets.shape[1])
    along = np.empty(n)
    goes_left = np.empty(n, dtype=np.bool_)
    moved = np.empty(n, dtype=np.int32)
    tried = np.arange(features)
    blocks = len(total) // LANES
    state = seed
    nodes[0, START], nodes[0, STOP] = 0, size
    made = 1
    node = 0
    # Children stand behind their parent, so that one pass over the nodes reaches them all.
    while node < made:
        start, stop = nodes[node, START], nodes[node, STOP]
        nodes[node, FEATURE] = -1
        weight, squares = 0.0, 0.0
        total[:] = 0.0
        for row in sorted_[0, start:stop]:
            times = float(copies[row])
            weight += times
            squares += times * norms[row]
            for output in range(len(total)):
                total[output] += times * targets[row, output]
        norm = 0.0
        for one in total:
            norm += one * one
        if stop - start > 1 and squares - norm / weight > 1e-12 * squares:
            for row in sorted_[0, start:stop]:
                along[row] = _project_and_add(total, targets, row, 0.0, blocks)
            best, chosen, cut = -1.0, -1, np.int64(-1)
            for place in range(features):
                state += _GAMMA
                other = place + np.int64(
                    ((mix(state) >> _HALF) * np.uint64(features - place)) >> _HALF
                )
                tried[place], tried[other] = tried[other], tried[place]
                feature = tried[place]
                reached, found = best_cut(
                    values[feature],
                    sorted_[feature, start:stop],
                    targets,
                    norms,
                    along,
                    copies,
                    weight,
                    norm,
                    left,
                    best,
                )
                if found >= 0:
                    best, chosen, cut = reached, feature, found
            if chosen >= 0:
                middle = start + cut + 1
                below = values[chosen, sorted_[chosen, middle - 1]]
                above = values[chosen, sorted_[chosen, middle]]
                half = below + (above - below) / 2.0
                cuts[node] = half if half < above else below
                for row in sorted_[chosen, start:middle]:
                    goes_left[row] = True
                for row in sorted_[chosen, middle:stop]:
                    goes_left[row] = False
                for feature in range(features):
                    part(sorted_[feature, start:stop], goes_left, moved)
                nodes[node, FEATURE] = chosen
                nodes[node, LEFT] = made
                nodes[made, START], nodes[made, STOP] = start, middle
                nodes[made + 1, START], nodes[made + 1, STOP] = middle, stop
                made += 2
        node += 1
    rows[:size] = sorted_[0, :size]
    return made


@kernel(
    "void(float64[:, ::1], int32[:, ::1], float64[::1], int32[::1], int32[::1], float64[:, ::1], "
    "float64[:, ::1])"
)
def add_forecast(
    X: np.ndarray,
    packed: np.ndarray,
    cuts: np.ndarray,
    rows: np.ndarray,
    copies: np.ndarray,
    targets: np.ndarray,
    forecast: np.ndarray,
) -> None:
    """Add what a tree says: the mean of the targets of the leaf that a row comes to.

    Args:
        X: (rows, features), what is asked.
        packed: (nodes, 2): feature and left child; of a leaf -1 - START, and STOP.
        cuts: (nodes,).
        rows: The bag's distinct rows.
        copies: How often the bag has each of them.
        targets: (n, outputs), what was learnt from.
        forecast: (rows, outputs), added to.
    """
    for asked in range(len(X)):
        node = np.int64(0)
        while packed[node, 0] >= 0:
            goes_right = X[asked, packed[node, 0]] > cuts[node]
            node = np.int64(packed[node, 1]) + goes_right
        start, stop = -1 - packed[node, 0], packed[node, 1]
        weight = 0.0
        for place in range(start, stop):
            weight += copies[place]
        for place in range(start, stop):
            share = copies[place] / weight
            for output in range(forecast.shape[1]):
                forecast[asked, output] += share * targets[rows[place], output]
