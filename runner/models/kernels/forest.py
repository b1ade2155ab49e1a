"""How a decision tree grows by random candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from runner.models.kernels.compiled import kernel

Number = Any
"""A scalar: its type stands in the kernel's signature."""

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_LEFT_SEED = np.uint64(0xA0761D6478BD642F)
_RIGHT_SEED = np.uint64(0xE7037ED1A0B428DB)

# As in kernels.bagging, whose constants a kernel's cache here wouldn't see change.
FEATURE, CUT, LEFT, RIGHT, TOTAL, POSITIVE = range(6)
MEMBER, NODE, START, STOP, SEED = range(5)
LEVELS = 5
"""After a stack's other fields, which are the frontier's: the levels that may still grow."""


@intrinsic  # type: ignore[untyped-decorator]
def _zeros_below(context: Any, bits: Any) -> Any:
    """How many zeros stand below the lowest bit that is set."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), emit


@intrinsic  # type: ignore[untyped-decorator]
def _zeros_above(context: Any, bits: Any) -> Any:
    """How many zeros stand above the highest bit that is set."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), emit


@kernel("uint64(uint64)")
def mix(state: Number) -> Number:
    """SplitMix64's output function, as in kernels.bagging."""
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel("float64(int64, int64)")
def impurity(total: Number, positive: Number) -> Number:
    """Half the Gini impurity, times the number of rows."""
    return float(positive) * float(total - positive) / float(total)


@kernel("int64(uint64, int64)")
def pick(number: Number, bound: Number) -> Number:
    """A whole number below the bound, from the upper half of a random one."""
    return np.int64(((number >> _HALF) * np.uint64(bound)) >> _HALF)


@kernel("Tuple((float64, int64))(int64[::1], uint64, uint64, int64, int64, float64)")
def best_cut(
    histogram: np.ndarray,
    held: Number,
    drawn: Number,
    whole: Number,
    min_leaf: Number,
    best: Number,
) -> tuple[Number, Number]:
    """The best of a feature's drawn cuts; empties the histogram.

    Cuts between the same two neighbouring bins part the rows alike: the middle of the lowest and
    the highest one drawn stands for them.

    Args:
        held: The bins that hold rows, as bits.
        drawn: The cuts to choose from, as bits: bit i parts bins up to i from those above.
        whole: The histogram's sum.
        min_leaf: Fewest rows on each side.
        best: What the children's impurity has to fall below.

    Returns:
        The children's impurity and the cut; ``best`` and -1 if none is better.
    """
    total, positive = whole >> 32, whole & 0xFFFFFFFF
    cut: Number = -1
    below = 0
    code = _zeros_below(held)
    while True:
        below += histogram[code]
        histogram[code] = 0
        held &= held - _ONE
        if held == 0:
            return best, cut
        following = _zeros_below(held)
        between = drawn & ((_ONE << following) - (_ONE << code))
        code = following
        if between == 0:
            continue
        left, left_positive = below >> 32, below & 0xFFFFFFFF
        if left < min_leaf or total - left < min_leaf:
            continue
        value = impurity(left, left_positive) + impurity(total - left, positive - left_positive)
        if value < best:
            best = value
            cut = np.int64(_zeros_below(between) + np.uint64(63) - _zeros_above(between)) >> 1


@kernel("int64(int32[::1], int64)")
def unseen(times: np.ndarray, skip: Number) -> Number:
    """The place of a zero, after skipping some zeros."""
    place = 0
    while times[place] > 0 or skip > 0:
        skip -= times[place] == 0
        place += 1
    return place


@kernel(
    "Tuple((int64, int64))"
    "(uint8[:, ::1], int32[::1], int32[::1], int64[::1], int64, int64, int64, int64, int64, "
    "uint64, int32[::1], int32[::1], int64[::1])"
)
def best_candidate(
    codes: np.ndarray,
    varying: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray,
    start: Number,
    stop: Number,
    whole: Number,
    splits: Number,
    min_leaf: Number,
    state: Number,
    times: np.ndarray,
    order: np.ndarray,
    histogram: np.ndarray,
) -> tuple[Number, Number]:
    """The best of ``splits`` random candidates: a feature, and a cut within the node's range.

    Features are drawn first, then the cuts of each one drawn, in the order of their first draw.
    Where all features drawn are constant in the node, others are drawn, one at a time, until one
    isn't (as scikit-learn's trees do).

    Args:
        state: The generator's.
        times: (varying columns,), zeros, and zeros afterwards.
        order: (varying columns,), overwritten.
        histogram: (64,), zeros, and zeros afterwards.

    Returns:
        The feature and the cut; the cut is -1 where no candidate is valid.
    """
    count, number = 0, state
    for draw in range(splits):
        # A number of 64 bits serves two draws.
        if draw % 2 == 0:
            state += _GAMMA
            number = mix(state)
        else:
            number <<= _HALF
        place = pick(number, len(varying))
        if times[place] == 0:
            order[count] = place
            count += 1
        times[place] += 1
    best, constant, seen = np.inf, 0, 0
    feature: Number = -1
    cut: Number = -1
    while seen < count:
        place = order[seen]
        column = np.int64(varying[place])
        held = np.uint64(0)
        for at in range(start, stop):
            code = codes[column, rows[at]]
            histogram[code] += weights[at]
            held |= _ONE << np.uint64(code)
        low, high = np.int64(_zeros_below(held)), 63 - np.int64(_zeros_above(held))
        if low == high:
            constant += 1
            histogram[low] = 0
        else:
            drawn = np.uint64(0)
            for draw in range(times[place]):
                if draw % 2 == 0:
                    state += _GAMMA
                    number = mix(state)
                else:
                    number <<= _HALF
                drawn |= _ONE << np.uint64(low + pick(number, high - low))
            best, better = best_cut(histogram, held, drawn, whole, min_leaf, best)
            if better >= 0:
                feature, cut = column, better
        seen += 1
        if seen == count and constant == count and count < len(varying):
            state += _GAMMA
            order[count] = unseen(times, pick(mix(state), len(varying) - count))
            times[order[count]] = 1
            count += 1
    for seen in range(count):
        times[order[seen]] = 0
    return feature, cut


@kernel("int64(uint8[::1], int64, int32[::1], int64[::1], int64, int64, int32[::1], int64[::1])")
def part(
    column: np.ndarray,
    cut: Number,
    rows: np.ndarray,
    weights: np.ndarray,
    start: Number,
    stop: Number,
    spare_rows: np.ndarray,
    spare_weights: np.ndarray,
) -> Number:
    """Move rows of bins up to the cut before the others, both in their order; where these begin."""
    middle, aside = start, 0
    for at in range(start, stop):
        row, weight = rows[at], weights[at]
        left = column[row] <= cut
        rows[middle] = row
        weights[middle] = weight
        spare_rows[aside] = row
        spare_weights[aside] = weight
        middle += left
        aside += not left
    rows[middle:stop] = spare_rows[:aside]
    weights[middle:stop] = spare_weights[:aside]
    return middle


@kernel("int32[:, ::1](int32[:, ::1], int64)", "int64[:, ::1](int64[:, ::1], int64)")
def roomy(table: np.ndarray, needed: Number) -> np.ndarray:
    """The table with room for so many rows: itself, or a copy of twice the size."""
    if needed <= table.shape[0]:
        return table
    larger = np.empty((2 * needed, table.shape[1]), dtype=table.dtype)
    larger[: table.shape[0]] = table
    return larger


@kernel("void(int32[:, ::1], int64, int64)")
def make_leaf(nodes: np.ndarray, node: Number, weight: Number) -> None:
    """A node without children, for rows of that weight."""
    nodes[node, FEATURE] = 0
    nodes[node, CUT] = 0
    nodes[node, LEFT] = -1
    nodes[node, RIGHT] = -1
    nodes[node, TOTAL] = weight >> 32
    nodes[node, POSITIVE] = weight & 0xFFFFFFFF


@kernel(
    "Tuple((int32[:, ::1], int64[:, ::1]))"
    "(uint8[:, ::1], int32[::1], int32[:, ::1], int64[:, ::1], int32[:, ::1], int64[:, ::1], "
    "int64, int64, int64)"
)
def grow(
    codes: np.ndarray,
    varying: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray,
    nodes: np.ndarray,
    frontier: np.ndarray,
    levels: Number,
    splits: Number,
    min_leaf: Number,
) -> tuple[np.ndarray, np.ndarray]:
    """Grow trees by some levels more.

    A node's candidates come from a seed that its path from the root gives, so that the tree is
    the same whatever the order of its nodes and the levels at which growth pauses.

    Args:
        codes: (columns, n), bins.
        varying: The columns with more than one bin.
        rows: (trees, n) and weights (trees, n) as ``bagging.plant`` gives them; reordered.
        nodes: (nodes, 6), left as they are.
        frontier: (open nodes, 5), as ``bagging.plant`` gives it.
        splits: Candidates a node.
        min_leaf: Fewest rows of the bag in a node.

    Returns:
        All nodes, and the frontier for the levels that follow.
    """
    count, waiting = nodes.shape[0], 0
    # A copy: the nodes so far may be in use as a model.
    nodes = roomy(nodes, count + 1)
    deferred = np.empty((max(16, frontier.shape[0]), 5), dtype=np.int64)
    stack = np.empty((min(levels, codes.shape[1]) + 2, 6), dtype=np.int64)
    spare_rows = np.empty(codes.shape[1], dtype=np.int32)
    spare_weights = np.empty(codes.shape[1], dtype=np.int64)
    times = np.zeros(len(varying), dtype=np.int32)
    order = np.empty(len(varying), dtype=np.int32)
    histogram = np.zeros(64, dtype=np.int64)
    for open_ in range(frontier.shape[0]):
        tree = frontier[open_, MEMBER]
        stack[0, :5] = frontier[open_]
        stack[0, LEVELS] = levels
        height = 1
        while height > 0:
            height -= 1
            node, start, stop = stack[height, NODE], stack[height, START], stack[height, STOP]
            seed, remaining = np.uint64(stack[height, SEED]), stack[height, LEVELS]
            total, positive = np.int64(nodes[node, TOTAL]), np.int64(nodes[node, POSITIVE])
            if positive == 0 or positive == total or total < 2 * min_leaf or len(varying) == 0:
                continue
            if remaining == 0:
                deferred = roomy(deferred, waiting + 1)
                deferred[waiting] = stack[height, :5]
                waiting += 1
                continue
            feature, cut = best_candidate(
                codes,
                varying,
                rows[tree],
                weights[tree],
                start,
                stop,
                (total << 32) + positive,
                splits,
                min_leaf,
                seed,
                times,
                order,
                histogram,
            )
            if cut < 0:
                continue
            middle = part(
                codes[feature],
                cut,
                rows[tree],
                weights[tree],
                start,
                stop,
                spare_rows,
                spare_weights,
            )
            nodes = roomy(nodes, count + 2)
            nodes[node, FEATURE] = feature
            nodes[node, CUT] = cut
            nodes[node, LEFT] = count
            nodes[node, RIGHT] = count + 1
            for begin, end, key in ((start, middle, _LEFT_SEED), (middle, stop, _RIGHT_SEED)):
                make_leaf(nodes, count, weights[tree, begin:end].sum())
                stack[height, MEMBER] = tree
                stack[height, NODE] = count
                stack[height, START] = begin
                stack[height, STOP] = end
                stack[height, SEED] = np.int64(mix(seed ^ key))
                stack[height, LEVELS] = remaining - 1
                count += 1
                height += 1
    return nodes[:count].copy(), deferred[:waiting].copy()
