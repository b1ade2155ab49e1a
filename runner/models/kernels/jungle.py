"""How a decision DAG grows, level by level, by LSearch (Shotton et al. 2013)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from runner.models.kernels.compiled import kernel

Number = Any
"""A scalar: its type stands in the kernel's signature."""

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)

# As in kernels.bagging, whose constants a kernel's cache here wouldn't see change.
FEATURE, CUT, LEFT, RIGHT, TOTAL, POSITIVE = range(6)
MEMBER, NODE, START, STOP, SEED = range(5)

ROWS, HITS = range(2)
"""A parent's fields before START and STOP: rows of the bag, and positive ones of them."""

TOTALS, POSITIVES, ENERGIES = range(3)
"""Sums over a level's children."""

SCALE = 2**20
"""Energies are whole numbers in units of 2^-20 bit: sums of them are exact in any order."""

PRECISION = 128
"""Binary places of logarithms: far more than roundings of the table need."""

SLOTS = 4096
"""Most cumulative histograms that a level keeps: 2 MB."""

WORTH = 128
"""Times a pair of parent and feature is drawn, times the parent's rows, from which its histogram
is faster than counting each time."""


@kernel("uint64(uint64)")
def mix(state: Number) -> Number:
    """SplitMix64's output function, as in kernels.bagging."""
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@lru_cache(maxsize=2)
def tabulate(most: int) -> np.ndarray:
    """x log2(x) for x from 0 to ``most``, in units of energy and rounded: (most + 1,) int64.

    In whole numbers of Python's, since C libraries differ in the last bits of a logarithm. With
    d = 2x - 1 the logarithm of x exceeds that of x - 1 by 2 (1/d + 1/(3 d^3) + 1/(5 d^5) + ...).
    """
    table = np.zeros(most + 1, dtype=np.int64)
    logarithm = ln_2 = 0
    for x in range(2, most + 1):
        d = 2 * x - 1
        power, term = (2 << PRECISION) // d, 1
        while power > 0:
            logarithm += power // term
            power //= d * d
            term += 2
        ln_2 = ln_2 or logarithm
        table[x] = (2 * SCALE * x * logarithm + ln_2) // (2 * ln_2)
    return table


@kernel("int64(int64[::1], int64, int64)")
def energy(table: np.ndarray, total: Number, positive: Number) -> Number:
    """A node's number of rows times the entropy of their classes."""
    return table[total] - table[positive] - table[total - positive]


@kernel("int64(uint64, int64)")
def pick(number: Number, bound: Number) -> Number:
    """A whole number below the bound, from the upper half of a random one."""
    return np.int64(((number >> _HALF) * np.uint64(bound)) >> _HALF)


@kernel("int64(uint8[::1], int64, int32[::1], int64[::1])")
def below(column: np.ndarray, cut: Number, rows: np.ndarray, weights: np.ndarray) -> Number:
    """The weight of the rows in bins up to the cut."""
    sum_ = 0
    for at in range(len(rows)):
        sum_ += weights[at] if column[rows[at]] <= cut else 0
    return sum_


@kernel("void(uint8[::1], int32[::1], int64[::1], int64[::1])")
def accumulate(
    column: np.ndarray, rows: np.ndarray, weights: np.ndarray, histogram: np.ndarray
) -> None:
    """The weight of the rows in bins up to each one."""
    histogram[:] = 0
    for at in range(len(rows)):
        histogram[column[rows[at]]] += weights[at]
    for code in range(1, len(histogram)):
        histogram[code] += histogram[code - 1]


@kernel("void(int64[::1], int64[:, ::1], int64, int64, int64)")
def join(
    table: np.ndarray, sums: np.ndarray, child: Number, total: Number, positive: Number
) -> None:
    """Let rows join a child, or leave it if their numbers are negative."""
    sums[TOTALS, child] += total
    sums[POSITIVES, child] += positive
    sums[ENERGIES, child] = energy(table, sums[TOTALS, child], sums[POSITIVES, child])


@kernel("void(int64[::1], int64[:, ::1], int64[::1], int64[:, ::1], int64[:, ::1])")
def hand_out(
    table: np.ndarray,
    parents: np.ndarray,
    pure: np.ndarray,
    sums: np.ndarray,
    found: np.ndarray,
) -> None:
    """Give children to the most energetic parents first, round robin once all are taken."""
    count, children = parents.shape[0], sums.shape[1]
    energies = np.empty(count, dtype=np.int64)
    for parent in range(count):
        energies[parent] = energy(table, parents[parent, ROWS], parents[parent, HITS])
    taken = 0
    for parent in np.argsort(-energies, kind="mergesort"):
        found[parent, LEFT] = taken % children
        found[parent, RIGHT] = (taken + 1) % children
        taken += 2
    for kind in range(2):
        if pure[kind] > 0:
            child = taken % children
            found[count, LEFT + kind] = child
            join(table, sums, child, pure[kind], pure[kind] * kind)
            taken += 1


@kernel(
    "void(uint8[:, ::1], int32[::1], int32[::1], int64[::1], int64[::1], int64[:, ::1], "
    "uint64, int64[:, ::1], int64[:, ::1])"
)
def start(
    codes: np.ndarray,
    varying: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray,
    table: np.ndarray,
    parents: np.ndarray,
    state: Number,
    sums: np.ndarray,
    found: np.ndarray,
) -> None:
    """Give each parent a random split, and count its rows at its children."""
    for parent in range(parents.shape[0]):
        state += _GAMMA
        number = mix(state)
        total, positive, begin, end = parents[parent]
        feature = np.int64(varying[pick(number, len(varying))])
        cut = np.int64(codes[feature, rows[begin + pick(number << _HALF, end - begin)]])
        weight = below(codes[feature], cut, rows[begin:end], weights[begin:end])
        found[parent, FEATURE] = feature
        found[parent, CUT] = cut
        found[parent, TOTAL] = weight >> 32
        found[parent, POSITIVE] = weight & 0xFFFFFFFF
        join(table, sums, found[parent, LEFT], found[parent, TOTAL], found[parent, POSITIVE])
        join(
            table,
            sums,
            found[parent, RIGHT],
            total - found[parent, TOTAL],
            positive - found[parent, POSITIVE],
        )


@kernel("int64(int64[::1], int64[:, ::1], int64[:, ::1], int64[:, ::1], int64, int64, int64[::1])")
def repoint(
    table: np.ndarray,
    sums: np.ndarray,
    parents: np.ndarray,
    found: np.ndarray,
    parent: Number,
    side: Number,
    rises: np.ndarray,
) -> Number:
    """Point a parent's left (0) or right (1) branch where the energy is lowest; the change.

    It stays where it is as long as nothing is better; ties go to the lower child.
    """
    current = found[parent, LEFT + side]
    total, positive = found[parent, TOTAL], found[parent, POSITIVE]
    if side == 1:
        total, positive = parents[parent, ROWS] - total, parents[parent, HITS] - positive
    if total == 0 or total == sums[TOTALS, current]:
        # Nothing to move, or nothing to gain: alone it has the least energy there is.
        return 0
    for child in range(sums.shape[1]):
        rises[child] = (
            table[sums[TOTALS, child] + total]
            - table[sums[POSITIVES, child] + positive]
            - table[sums[TOTALS, child] - sums[POSITIVES, child] + total - positive]
            - sums[ENERGIES, child]
        )
    stay = sums[ENERGIES, current] - energy(
        table, sums[TOTALS, current] - total, sums[POSITIVES, current] - positive
    )
    rises[current] = stay
    least = stay
    for child in range(len(rises)):
        least = min(least, rises[child])
    if least == stay:
        return 0
    child = 0
    while rises[child] != least:
        child += 1
    join(table, sums, current, -total, -positive)
    join(table, sums, child, total, positive)
    found[parent, LEFT + side] = child
    return least - stay


@kernel(
    "int64(uint8[:, ::1], int32[::1], int32[::1], int64[::1], int64[::1], int64[:, ::1], "
    "int64[::1], int64, int64, uint64, int64[:, ::1])"
)
def search(
    codes: np.ndarray,
    varying: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray,
    table: np.ndarray,
    parents: np.ndarray,
    pure: np.ndarray,
    children: Number,
    steps: Number,
    state: Number,
    found: np.ndarray,
) -> Number:
    """Search splits and children of a level's impure parents that make its energy low.

    Parents are handed children and start from a random split. Each step draws a parent and a
    split, takes the split if the energy falls, and points the parent's branches where the energy
    is lowest. A split is a feature and the bin of a random row of the parent.

    Args:
        parents: (impure parents, 4), with the fields ROWS, HITS, START and STOP.
        pure: (2,), the bag's rows in pure parents of the negative and the positive class.
        children: Most children, at least 2.
        state: The generator's.
        found: (impure parents + 1, 6), zeros; filled with feature, cut, left and right child, and
            the left branch's rows and positive ones; in the last row the children of the negative
            and of the positive pure parents. A right branch without rows has the left one's child.

    Returns:
        The energy of the level's children.
    """
    count, columns = parents.shape[0], len(varying)
    sums = np.zeros((3, children), dtype=np.int64)
    hand_out(table, parents, pure, sums, found)
    start(codes, varying, rows, weights, table, parents, mix(state), sums, found)
    scarce = children < 2 * count + (pure[0] > 0) + (pure[1] > 0)
    rises = np.empty(children, dtype=np.int64)
    level_energy = sums[ENERGIES].sum()
    # The cumulative histograms of pairs of parent and feature that are drawn often.
    visits = steps / (count * columns)
    slots = np.full(count * columns, -1, dtype=np.int32)
    histograms = np.empty((min(SLOTS, len(slots)), 64), dtype=np.int64)
    kept = 0
    for _ in range(steps):
        if level_energy == 0:
            break
        # The body stays in one function: a call costs more than a step, since every array that
        # is handed over is counted as one more reference, and atomically.
        state += _GAMMA
        number = mix(state)
        state += _GAMMA
        parent = pick(number, count)
        left, right = found[parent, LEFT], found[parent, RIGHT]
        if sums[ENERGIES, left] + sums[ENERGIES, right] == 0:
            continue
        if left != right:
            place = pick(number << _HALF, columns)
            feature, begin, end = (
                np.int64(varying[place]),
                parents[parent, START],
                parents[parent, STOP],
            )
            cut = np.int64(codes[feature, rows[begin + pick(mix(state), end - begin)]])
            pair = parent * columns + place
            if slots[pair] < 0 and kept < len(histograms) and visits * (end - begin) > WORTH:
                accumulate(codes[feature], rows[begin:end], weights[begin:end], histograms[kept])
                slots[pair] = kept
                kept += 1
            if slots[pair] >= 0:
                weight = histograms[slots[pair], cut]
            else:
                weight = below(codes[feature], cut, rows[begin:end], weights[begin:end])
            more = (weight >> 32) - found[parent, TOTAL]
            more_positive = (weight & 0xFFFFFFFF) - found[parent, POSITIVE]
            lower = energy(table, sums[TOTALS, left] + more, sums[POSITIVES, left] + more_positive)
            upper = energy(
                table, sums[TOTALS, right] - more, sums[POSITIVES, right] - more_positive
            )
            change = lower + upper - sums[ENERGIES, left] - sums[ENERGIES, right]
            if change < 0:
                sums[TOTALS, left] += more
                sums[POSITIVES, left] += more_positive
                sums[ENERGIES, left] = lower
                sums[TOTALS, right] -= more
                sums[POSITIVES, right] -= more_positive
                sums[ENERGIES, right] = upper
                found[parent, FEATURE] = feature
                found[parent, CUT] = cut
                found[parent, TOTAL] += more
                found[parent, POSITIVE] += more_positive
                level_energy += change
        if scarce:
            level_energy += repoint(table, sums, parents, found, parent, 0, rises)
            level_energy += repoint(table, sums, parents, found, parent, 1, rises)
    for parent in range(count):
        if found[parent, TOTAL] == parents[parent, ROWS]:
            found[parent, RIGHT] = found[parent, LEFT]
    return level_energy


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
    "Tuple((int32[:, ::1], int64, int64[:, ::1]))"
    "(uint8[:, ::1], int32[::1], int64[::1], int32[:, ::1], int64, int64[:, ::1], int64[:, ::1], "
    "int64)"
)
def settle(
    codes: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray,
    nodes: np.ndarray,
    count: Number,
    level: np.ndarray,
    found: np.ndarray,
    children: Number,
) -> tuple[np.ndarray, Number, np.ndarray]:
    """Make the children that have rows, and sort the rows by child.

    Args:
        nodes: (room, 6), of which ``count`` are in use.
        level: (parents, 5), the parents as in the frontier.
        found: As ``search`` fills it, for the impure parents in the level's order.

    Returns:
        All nodes, their number, and the children as the next frontier.
    """
    nodes = roomy(nodes, count + children)
    child_of = np.empty(len(rows), dtype=np.int64)
    begins = np.zeros(children + 1, dtype=np.int64)
    sums = np.zeros(children, dtype=np.int64)
    impure = 0
    last = found.shape[0] - 1
    for parent in range(level.shape[0]):
        node = level[parent, NODE]
        total, positive = nodes[node, TOTAL], nodes[node, POSITIVE]
        if positive == 0 or positive == total:
            left = right = found[last, RIGHT if positive > 0 else LEFT]
            feature, cut = np.int64(0), np.int64(0)
        else:
            feature, cut = found[impure, FEATURE], found[impure, CUT]
            left, right = found[impure, LEFT], found[impure, RIGHT]
            impure += 1
        nodes[node, FEATURE] = feature
        nodes[node, CUT] = cut
        nodes[node, LEFT] = left
        nodes[node, RIGHT] = right
        for at in range(level[parent, START], level[parent, STOP]):
            child = left if codes[feature, rows[at]] <= cut else right
            child_of[at] = child
            begins[child + 1] += 1
            sums[child] += weights[at]
    begins = np.cumsum(begins)

    number = np.empty(children, dtype=np.int64)
    following = np.empty((children, 5), dtype=np.int64)
    made = 0
    for child in range(children):
        number[child] = count + made
        if begins[child + 1] == begins[child]:
            continue
        make_leaf(nodes, count + made, sums[child])
        following[made, MEMBER] = level[0, MEMBER]
        following[made, NODE] = count + made
        following[made, START] = begins[child]
        following[made, STOP] = begins[child + 1]
        following[made, SEED] = level[0, SEED]
        made += 1
    for parent in range(level.shape[0]):
        node = level[parent, NODE]
        nodes[node, LEFT] = number[nodes[node, LEFT]]
        nodes[node, RIGHT] = number[nodes[node, RIGHT]]

    used = level[level.shape[0] - 1, STOP]
    old_rows, old_weights = rows[:used].copy(), weights[:used].copy()
    for at in range(used):
        to = begins[child_of[at]]
        begins[child_of[at]] += 1
        rows[to] = old_rows[at]
        weights[to] = old_weights[at]
    return nodes, count + made, following[:made].copy()


@kernel(
    "Tuple((int64, int64))(int64[::1], int32[:, ::1], int64[:, ::1], int64[:, ::1], int64[::1])"
)
def sort_out(
    table: np.ndarray,
    nodes: np.ndarray,
    level: np.ndarray,
    parents: np.ndarray,
    pure: np.ndarray,
) -> tuple[Number, Number]:
    """Fill ``parents`` and ``pure``, as ``search`` wants them, from a level of the frontier.

    Returns:
        The number of impure parents, and their energy.
    """
    pure[:] = 0
    impure, total_energy = 0, 0
    for place in range(level.shape[0]):
        node = level[place, NODE]
        total, positive = np.int64(nodes[node, TOTAL]), np.int64(nodes[node, POSITIVE])
        if positive == 0 or positive == total:
            pure[1 if positive > 0 else 0] += total
            continue
        parents[impure, START] = level[place, START]
        parents[impure, STOP] = level[place, STOP]
        parents[impure, ROWS] = total
        parents[impure, HITS] = positive
        total_energy += energy(table, total, positive)
        impure += 1
    return impure, total_energy


@kernel(
    "Tuple((int32[:, ::1], int64[:, ::1]))"
    "(uint8[:, ::1], int32[::1], int64[::1], int32[:, ::1], int64[:, ::1], int32[:, ::1], "
    "int64[:, ::1], int64, int64, int64, int64)"
)
def grow(
    codes: np.ndarray,
    varying: np.ndarray,
    table: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray,
    nodes: np.ndarray,
    frontier: np.ndarray,
    first: Number,
    stop: Number,
    width: Number,
    steps: Number,
) -> tuple[np.ndarray, np.ndarray]:
    """Grow DAGs from level ``first`` to level ``stop``.

    A level's generator is seeded by the DAG and the level's number, so that a DAG is the same
    whatever the levels at which growth pauses.

    Args:
        codes: (columns, n), bins.
        varying: The columns with more than one bin.
        table: (n + 1,), as ``tabulate`` gives it.
        rows: (DAGs, n) and weights (DAGs, n) as ``bagging.plant`` gives them; reordered.
        nodes: (nodes, 6), left as they are.
        frontier: (open nodes, 5), as ``bagging.plant`` gives it, DAG by DAG.
        width: Most nodes of a level.
        steps: Steps of the search, a level.

    Returns:
        All nodes, and the frontier for the levels that follow.
    """
    count, waiting, begin = nodes.shape[0], 0, 0
    # A copy: the nodes so far may be in use as a model.
    nodes = roomy(nodes, count + 1)
    deferred = np.empty((max(16, frontier.shape[0]), 5), dtype=np.int64)
    pure = np.empty(2, dtype=np.int64)
    while begin < frontier.shape[0] and len(varying) > 0:
        dag, end = frontier[begin, MEMBER], begin
        while end < frontier.shape[0] and frontier[end, MEMBER] == dag:
            end += 1
        level = frontier[begin:end].copy()
        begin = end
        seed = np.uint64(level[0, SEED])
        open_ = True
        for number in range(first, stop):
            parents = np.empty((level.shape[0], 4), dtype=np.int64)
            impure, before = sort_out(table, nodes, level, parents, pure)
            children = min(width, 2 * impure + (pure[0] > 0) + (pure[1] > 0))
            if impure == 0 or children == 1:
                open_ = False
                break
            found = np.zeros((impure + 1, 6), dtype=np.int64)
            after = search(
                codes,
                varying,
                rows[dag],
                weights[dag],
                table,
                parents[:impure],
                pure,
                children,
                steps,
                mix(seed ^ (np.uint64(number + 1) * _GAMMA)),
                found,
            )
            if after >= before:
                open_ = False
                break
            nodes, count, level = settle(
                codes, rows[dag], weights[dag], nodes, count, level, found, children
            )
        if open_:
            deferred = roomy(deferred, waiting + level.shape[0])
            deferred[waiting : waiting + level.shape[0]] = level
            waiting += level.shape[0]
    return nodes[:count].copy(), deferred[:waiting].copy()
