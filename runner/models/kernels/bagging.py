"""What ensembles of bagged trees or DAGs share: their bags of rows, and how they are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from runner.models.kernels.compiled import kernel

Number = Any
"""A scalar: its type stands in the kernel's signature."""

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)

FEATURE, CUT, LEFT, RIGHT, TOTAL, POSITIVE = range(6)
"""A node's fields. Bins up to CUT go to node LEFT, the others to RIGHT (-1: none yet). TOTAL and
POSITIVE count the rows of the bag that reach it."""

MEMBER, NODE, START, STOP, SEED = range(5)
"""The fields of a node that may still be split: its tree's place in the grove, its own place among
the nodes, where its rows begin and end in the tree's rows, and its generator's seed."""


@kernel("uint64(uint64)")
def mix(state: Number) -> Number:
    """SplitMix64's output function (Steele, Lea & Flood 2014), as in the modules that draw too."""
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel(
    "void(boolean[::1], int64, int64, int32[:, ::1], int64[:, ::1], int32[:, ::1], int64[:, ::1])"
)
def plant(
    positive: np.ndarray,
    seed: Number,
    first: Number,
    rows: np.ndarray,
    weights: np.ndarray,
    nodes: np.ndarray,
    frontier: np.ndarray,
) -> None:
    """Draw a bag for each tree, as many rows with replacement as there are, and make its root.

    A bag depends on the seed and the tree's number alone.

    Args:
        positive: (n,), the rows' class.
        seed: The ensemble's.
        first: The first tree's number; as many follow as ``rows`` has rows.
        rows: (trees, n), filled: the distinct rows of each bag, ascending.
        weights: (trees, n), filled: how often each one is in the bag, times 2^32, and once more
            without the factor if it is positive. Such sums count both at once.
        nodes: (trees, 6), filled: the roots.
        frontier: (trees, 5), filled: the roots again.
    """
    n = len(positive)
    copies = np.empty(n, dtype=np.int64)
    for place in range(rows.shape[0]):
        tree = np.uint64(first + place)
        state = mix(mix(np.uint64(seed) + _GAMMA) ^ ((tree + np.uint64(1)) * _GAMMA))
        own = state
        copies[:] = 0
        for _ in range(n):
            state += _GAMMA
            copies[np.int64(((mix(state) >> _HALF) * np.uint64(n)) >> _HALF)] += 1
        used, sum_ = 0, 0
        for row in range(n):
            if copies[row] > 0:
                weight = (copies[row] << 32) + (copies[row] if positive[row] else 0)
                rows[place, used] = row
                weights[place, used] = weight
                sum_ += weight
                used += 1
        nodes[place, FEATURE] = 0
        nodes[place, CUT] = 0
        nodes[place, LEFT] = -1
        nodes[place, RIGHT] = -1
        nodes[place, TOTAL] = n
        nodes[place, POSITIVE] = sum_ & 0xFFFFFFFF
        frontier[place, MEMBER] = place
        frontier[place, NODE] = place
        frontier[place, START] = 0
        frontier[place, STOP] = used
        frontier[place, SEED] = np.int64(mix(own ^ np.uint64(0xD1B54A32D192ED03)))


@kernel(
    "void(uint8[:, ::1], Array(int32, 2, 'C', readonly=True), int64, int64[:, ::1], float64[::1])"
)
def descend(
    codes: np.ndarray, nodes: np.ndarray, roots: Number, counts: np.ndarray, shares: np.ndarray
) -> None:
    """Send rows down every tree, and add up what they find where they end.

    Args:
        codes: (n, columns), bins.
        nodes: (nodes, 6); a row ends at a node without children.
        roots: How many of the first nodes are roots.
        counts: (n, 2): the ends' rows of the bag, and the positive ones of them, are added.
        shares: (n,): the ends' shares of positive rows are added, in the trees' order.
    """
    for root in range(roots):
        for row in range(codes.shape[0]):
            node = np.int64(root)
            while True:
                side = LEFT if codes[row, nodes[node, FEATURE]] <= nodes[node, CUT] else RIGHT
                child = np.int64(nodes[node, side])
                if child < 0:
                    break
                node = child
            total, positive = np.int64(nodes[node, TOTAL]), np.int64(nodes[node, POSITIVE])
            counts[row, 0] += total
            counts[row, 1] += positive
            shares[row] += positive / total
