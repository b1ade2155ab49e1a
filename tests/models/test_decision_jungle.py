"""C-DJ against a plain reimplementation, and what LSearch promises."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.model_selection import StratifiedKFold

from runner.metrics import auc
from runner.models import family
from runner.models.decision_forest import DecisionForest
from runner.models.decision_jungle import DecisionJungle
from runner.models.kernels import jungle

Data = tuple[np.ndarray, np.ndarray]


@dataclass
class Node:
    """A node: its rows of the bag, each once, and its split and children if it has any."""

    rows: list[int]
    split: tuple[int, int] = (0, 0)
    children: tuple[Any, ...] = ()


class PlainDag:
    """A DAG of C-DJ, whose energies are counted anew for all rows at each look."""

    def __init__(
        self,
        splitmix: Any,
        codes: np.ndarray,
        y: np.ndarray,
        bag: np.ndarray,
        width: int,
        steps: int,
    ):
        self.random, self.codes, self.y, self.bag = splitmix, codes.astype(int), y, bag
        self.width, self.steps = width, steps
        self.varying = [c for c in range(codes.shape[1]) if np.ptp(codes[:, c]) > 0]

    def grow(self, seed: int, depth: int) -> Node:
        root = Node([int(row) for row in np.flatnonzero(self.bag)])
        level = [root]
        for number in range(depth):
            state = self.random.mix(seed ^ (number + 1) * self.random.GAMMA % 2**64)
            below = self.next_level(level, state)
            if below is None:
                break
            level = below
        return root

    def counts(self, rows: list[int]) -> tuple[int, int]:
        return int(self.bag[rows].sum()), int((self.bag * self.y)[rows].sum())

    def energy(self, groups: list[list[int]]) -> int:
        def x_log_x(x: int) -> int:
            return round(x * math.log2(x) * 2**20) if x else 0

        sizes = [self.counts(rows) for rows in groups]
        return sum(x_log_x(n) - x_log_x(p) - x_log_x(n - p) for n, p in sizes)

    def next_level(self, level: list[Node], state: int) -> list[Node] | None:
        impure = [node for node in level if self.energy([node.rows]) > 0]
        pure = [
            [n for n in level if self.counts(n.rows)[1] == kind * self.counts(n.rows)[0]]
            for kind in (0, 1)
        ]
        wanted = 2 * len(impure) + sum(1 for nodes in pure if nodes)
        width = min(self.width, wanted)
        if not impure or width == 1:
            return None
        ends, taken = {}, 0
        for node in sorted(impure, key=lambda node: -self.energy([node.rows])):
            ends[id(node)] = [taken % width, (taken + 1) % width]
            taken += 2
        for nodes in pure:
            ends |= {id(node): [taken % width] * 2 for node in nodes}
            taken += bool(nodes)
        before = self.energy([node.rows for node in level])
        self.search(level, impure, ends, width, wanted, state)
        groups = self.groups(level, ends, width)
        if self.energy(groups) >= before:
            return None
        made = [Node(rows) for rows in groups]
        for node in level:
            left, right = (made[end] for end in ends[id(node)])
            rights = self.parts(node)[1]
            node.children = left, (right if rights or left is right else left)
        return [node for node in made if node.rows]

    def parts(self, node: Node) -> tuple[list[int], list[int]]:
        column, cut = node.split
        return (
            [row for row in node.rows if self.codes[row, column] <= cut],
            [row for row in node.rows if self.codes[row, column] > cut],
        )

    def groups(self, level: list[Node], ends: dict[int, list[int]], width: int) -> list[list[int]]:
        groups: list[list[int]] = [[] for _ in range(width)]
        for node in level:
            for row in node.rows:
                column, cut = node.split
                groups[ends[id(node)][int(self.codes[row, column] > cut)]].append(row)
        return groups

    def search(
        self,
        level: list[Node],
        impure: list[Node],
        ends: dict[int, list[int]],
        width: int,
        wanted: int,
        state: int,
    ) -> None:
        def energy() -> int:
            return self.energy(self.groups(level, ends, width))

        def split(node: Node, place: int, row: int) -> tuple[int, int]:
            column = self.varying[place]
            return column, int(self.codes[node.rows[row], column])

        first = self.random(self.random.mix(state))
        for node in impure:
            bounds = len(self.varying), len(node.rows)
            node.split = split(node, *self.random.halves(first.next(), bounds))
        stream = self.random(state)
        for _ in range(self.steps):
            index, place = self.random.halves(stream.next(), (len(impure), len(self.varying)))
            row_number = stream.next()
            node, now = impure[index], energy()
            own = ends[id(node)]
            groups = self.groups(level, ends, width)
            if self.energy([groups[end] for end in own]) == 0:
                continue
            old = node.split
            node.split = split(node, place, self.random.pick(row_number, len(node.rows)))
            if own[0] == own[1] or energy() >= now:
                node.split = old
            for side in (0, 1) if width < wanted else ():
                part = self.parts(node)[side]
                home = own[side]
                if not part or len(self.groups(level, ends, width)[home]) == len(part):
                    continue
                energies = {}
                for end in range(width):
                    own[side] = end
                    energies[end] = energy()
                best = min(energies.values())
                own[side] = (
                    home
                    if energies[home] == best
                    else min(end for end in energies if energies[end] == best)
                )


def leaf(node: Node, code: np.ndarray) -> Node:
    while node.children:
        node = node.children[int(code[node.split[0]] > node.split[1])]
    return node


def small() -> Data:
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=60), rng.integers(0, 4, 60), np.ones(60)])
    return X, (X[:, 0] + rng.normal(size=60) > 0.5).astype(int)


@pytest.mark.parametrize("depth", [1, 2, 64])
@pytest.mark.parametrize(("width", "steps"), [(1, 9), (2, 40), (3, 60), (5, 80), (128, 60)])
def test_equals_a_plain_reimplementation(width: int, steps: int, depth: int, splitmix: Any) -> None:
    X, y = small()
    values = {"dags": 3, "depth": depth, "width": width, "steps": steps}
    fitted = DecisionJungle(**values, random_state=2).fit(X, y)
    codes = fitted._binning.apply(X)
    shares = np.zeros(len(X))
    for member in range(3):
        bag, seed = splitmix.bag(len(X), 2, member)
        plain = PlainDag(splitmix, codes, y, bag, width, steps)
        root = plain.grow(seed, depth)
        for row, code in enumerate(codes):
            total, positive = plain.counts(leaf(root, code).rows)
            shares[row] += positive / total
    assert fitted.decision_function(X).tobytes() == (shares / 3 - 0.5).tobytes()


def levels(nodes: np.ndarray) -> list[np.ndarray]:
    """A single DAG's nodes, level by level."""
    found, level = [], np.array([0])
    while len(level):
        found.append(nodes[level])
        level = np.unique(nodes[level, 2:4])
        level = level[level >= 0]
    return found


def energies(level: np.ndarray) -> float:
    shares = level[:, 5] / level[:, 4]
    total: float = (level[:, 4] * entropy([shares, 1 - shares], base=2)).sum()
    return total


@pytest.mark.parametrize("width", [2, 8, 32, 1024])
def test_energy_falls_from_level_to_level_of_bounded_width(width: int, real: Data) -> None:
    X, y = real
    for seed in range(3):
        fitted = DecisionJungle(dags=1, depth=64, width=width, steps=1024, random_state=seed)
        [(_, nodes)] = fitted.fit(X, y)._models
        found = levels(nodes)
        assert len(found) > 1
        assert all(len(level) <= width and level[:, 4].sum() == len(X) for level in found)
        assert (np.diff([energies(level) for level in found]) < 0).all()


def test_energies_are_rounded_exactly() -> None:
    table = jungle.tabulate(100_000)
    assert table[:3].tolist() == [0, 0, 2 * 2**20]
    with localcontext(prec=50):
        for x in (*range(3, 2000), *range(2000, 100_001, 97)):
            bits = Decimal(x) * Decimal(x).ln() / Decimal(2).ln()
            assert table[x] == (bits * 2**20).to_integral_value()


@pytest.mark.parametrize("children", [2, 3, 6, 16])
def test_energy_never_rises_within_a_level(children: int) -> None:
    # Eight parents: 16 children are one for each branch, fewer must be shared.
    rng = np.random.default_rng(0)
    rows_each, parents = 40, 8
    n = rows_each * parents
    codes = rng.integers(0, 64, (5, n)).astype(np.uint8)
    positive = rng.random(n) < 0.1 + 0.5 * (codes[0] > 30) + 0.3 * (np.arange(n) // 40 % 2)
    weights = (1 << 32) + positive.astype(np.int64)
    table = jungle.tabulate(n)
    begins = np.arange(0, n, rows_each)
    own = positive.reshape(parents, rows_each).sum(axis=1)
    level = np.column_stack([np.full(parents, rows_each), own, begins, begins + rows_each])

    def after(steps: int) -> int:
        found = np.zeros((parents + 1, 6), dtype=np.int64)
        energy: int = jungle.search(
            codes,
            np.arange(5, dtype=np.int32),
            np.arange(n, dtype=np.int32),
            weights,
            table,
            level,
            np.zeros(2, dtype=np.int64),
            children,
            steps,
            np.uint64(9),
            found,
        )
        feature, cut = found[:parents, 0], found[:parents, 1]
        parent = np.arange(n) // rows_each
        right = codes[feature[parent], np.arange(n)] > cut[parent]
        child = found[parent, 2 + right]
        totals = np.bincount(child, minlength=children)
        positives = np.bincount(child, positive, minlength=children)
        held = totals > 0
        shares = positives[held] / totals[held]
        expected = (totals[held] * entropy([shares, 1 - shares], base=2)).sum()
        assert energy / jungle.SCALE == pytest.approx(expected, abs=1e-4)
        return energy

    # A search of more steps begins with one of fewer.
    course = [after(steps) for steps in range(150)]
    assert (np.diff(course) <= 0).all()
    assert len(set(course)) > 5


def test_a_width_of_one_scores_all_rows_alike(breast_cancer: Data) -> None:
    X, y = breast_cancer
    grid = [values for _, values in family("C-DJ").configurations() if values["width"] == 1]
    assert len(grid) == 27
    for values in grid[::4]:
        margin = DecisionJungle(**values).fit(X, y).decision_function(X)
        assert len(set(margin)) == 1
        assert auc(y.astype(np.uint8), margin) == 0.5


@pytest.mark.parametrize("width", [128, 1024])
def test_scores_like_a_forest_at_depth_64(width: int, real: Data) -> None:
    X, y = real[0], real[1].astype(np.uint8)
    forest = DecisionForest(trees=32, depth=64)
    dags = DecisionJungle(dags=32, depth=64, width=width, steps=4096)
    scores = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=1).split(X, y):
        fitted = (one.fit(X[train], y[train]) for one in (forest, dags))
        scores.append([auc(y[test], one.decision_function(X[test])) for one in fitted])
    of_forest, of_jungle = np.mean(scores, axis=0)
    assert abs(of_forest - of_jungle) < 0.02
