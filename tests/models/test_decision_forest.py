"""C-DF against a plain reimplementation and against scikit-learn's trees and forests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from runner.metrics import auc
from runner.models.decision_forest import DecisionForest

Data = tuple[np.ndarray, np.ndarray]


class PlainTree:
    """A tree of C-DF grown by counting, row by row and candidate by candidate."""

    def __init__(self, splitmix: Any, codes: np.ndarray, y: np.ndarray, splits: int, min_leaf: int):
        self.random, self.codes, self.y = splitmix, codes, y
        self.splits, self.min_leaf = splits, min_leaf
        self.varying = [c for c in range(codes.shape[1]) if np.ptp(codes[:, c]) > 0]

    def grow(self, rows: np.ndarray, seed: int, depth: int) -> Any:
        """``rows`` holds a row as often as the bag does."""
        counts = len(rows), int(self.y[rows].sum())
        found = depth > 0 and 0 < counts[1] < counts[0] and self.best(rows, seed)
        if not found:
            return counts
        column, cut = found
        left = self.codes[rows, column] <= cut
        sides = ((rows[left], 0xA0761D6478BD642F), (rows[~left], 0xE7037ED1A0B428DB))
        mix = self.random.mix
        return column, cut, *(self.grow(part, mix(seed ^ key), depth - 1) for part, key in sides)

    def best(self, rows: np.ndarray, seed: int) -> tuple[int, int] | None:
        stream = self.random(seed)
        places = stream.picks(len(self.varying), self.splits)
        best, found, constant = np.inf, None, 0
        order = list(dict.fromkeys(places))
        for place in order:
            column = self.varying[place]
            values = self.codes[rows, column]
            low, high = int(values.min()), int(values.max())
            if low == high:
                constant += 1
                rest = [p for p in range(len(self.varying)) if p not in order]
                if constant == len(order) and rest:
                    order.append(rest[stream.pick(stream.next(), len(rest))])
                    places.append(order[-1])
                continue
            cuts = [low + one for one in stream.picks(high - low, places.count(place))]
            parts: dict[int, list[int]] = {}
            for cut in sorted(set(cuts)):
                parts.setdefault(int((values <= cut).sum()), []).append(cut)
            for size, alike in sorted(parts.items()):
                value = self.impurity(rows[values <= alike[0]])
                value += self.impurity(rows[values > alike[0]])
                if min(size, len(rows) - size) >= self.min_leaf and value < best:
                    best, found = value, (column, (alike[0] + alike[-1]) // 2)
        return found

    def impurity(self, rows: np.ndarray) -> float:
        total, positive = float(len(rows)), float(self.y[rows].sum())
        return positive * (total - positive) / total

    def counts(self, node: Any, code: np.ndarray) -> tuple[int, int]:
        while len(node) == 4:
            node = node[2] if code[node[0]] <= node[1] else node[3]
        return node


@pytest.mark.parametrize("depth", [1, 3, 64])
@pytest.mark.parametrize(("splits", "min_leaf"), [(1, 1), (2, 3), (25, 1), (300, 4)])
def test_equals_a_plain_reimplementation(
    splits: int, min_leaf: int, depth: int, splitmix: Any
) -> None:
    rng = np.random.default_rng(splits)
    X = np.column_stack(
        [rng.normal(size=150), rng.integers(0, 3, 150), np.ones(150), rng.random((150, 2)) > 0.9]
    )
    y = (X[:, 0] + rng.normal(size=150) > 0.5).astype(int)
    values = {"trees": 4, "depth": depth, "splits": splits, "min_leaf": min_leaf}
    fitted = DecisionForest(**values, random_state=11).fit(X, y)
    codes = fitted._binning.apply(X)
    totals = np.zeros((150, 2), dtype=int)
    for member in range(4):
        bag, seed = splitmix.bag(150, 11, member)
        plain = PlainTree(splitmix, codes, y, splits, min_leaf)
        root = plain.grow(np.repeat(np.arange(150), bag), seed, depth)
        totals += [plain.counts(root, code) for code in codes]
    margin = (2 * totals[:, 1] - totals[:, 0]) / (2 * totals[:, 0])
    assert fitted.decision_function(X).tobytes() == margin.tobytes()


def test_the_best_of_all_splits_is_that_of_a_decision_tree(real: Data, splitmix: Any) -> None:
    X, y = real
    for seed in range(5):
        fitted = DecisionForest(trees=1, depth=1, splits=200_000, random_state=seed).fit(X, y)
        bag, _ = splitmix.bag(len(X), seed, 0)
        codes = fitted._binning.apply(X)
        peer = DecisionTreeClassifier(max_depth=1, random_state=0).fit(codes, y, bag)
        [(_, nodes)] = fitted._models
        tree = peer.tree_
        expected = tree.impurity[1:] @ tree.weighted_n_node_samples[1:]
        total, positive = nodes[1:, 4].astype(float), nodes[1:, 5]
        assert (2 * positive * (total - positive) / total).sum() == pytest.approx(expected)


def summed(forest: Any, codes: np.ndarray) -> np.ndarray:
    """A scikit-learn forest's scores when its leaves' counts are summed, as C-DF does."""
    counts = np.zeros((len(codes), 2))
    for tree in forest.estimators_:
        leaves = tree.apply(codes)
        shares = tree.tree_.value[leaves, 0, :]
        counts += shares * tree.tree_.weighted_n_node_samples[leaves, None]
    score: np.ndarray = counts[:, 1] / counts.sum(axis=1)
    return score


SEEDS = 12
PEERS = {
    "random forest": (RandomForestClassifier, {"max_features": None}, 20_000),
    "extremely randomised trees": (ExtraTreesClassifier, {"max_features": 1, "bootstrap": True}, 1),
}


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("depth", [4, 64])
def test_mean_scores_are_scikit_learns_within_three_standard_errors(
    peer: str, depth: int, real: Data
) -> None:
    make, settings, splits = PEERS[peer]
    some = slice(None, None, 1 + len(real[1]) // 1500)
    X, y = real[0][some], real[1][some].astype(np.uint8)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    ours, theirs = [], []
    for seed in range(SEEDS):
        forest = DecisionForest(trees=8, depth=depth, splits=splits, random_state=seed)
        ours.append(auc(y_test, forest.fit(X_train, y_train).decision_function(X_test)))
        codes, test_codes = (forest._binning.apply(part) for part in (X_train, X_test))
        other = make(8, max_depth=depth, random_state=seed, **settings).fit(codes, y_train)
        theirs.append(auc(y_test, summed(other, test_codes)))
    # Of the difference of two means over seeds, which bags and candidates alone move.
    error = np.sqrt((np.var(ours, ddof=1) + np.var(theirs, ddof=1)) / SEEDS)
    assert abs(np.mean(ours) - np.mean(theirs)) < 3 * error, (ours, theirs)


def test_leaves_hold_at_least_min_leaf_rows_of_the_bag(breast_cancer: Data) -> None:
    for splits in (1, 128):
        fitted = DecisionForest(trees=8, depth=64, splits=splits, min_leaf=16).fit(*breast_cancer)
        [(_, nodes)] = fitted._models
        assert nodes[:, 4].min() >= 16
        leaves = nodes[nodes[:, 2] < 0]
        assert leaves[:, 4].sum() == 8 * len(breast_cancer[0])


def test_depth_bounds_the_splits_on_a_path(breast_cancer: Data) -> None:
    for depth in (1, 2, 5):
        [(_, nodes)] = DecisionForest(trees=1, depth=depth, splits=1).fit(*breast_cancer)._models
        level = np.zeros(len(nodes), dtype=int)
        for node in np.flatnonzero(nodes[:, 2] > 0):
            level[nodes[node, 2:4]] = level[node] + 1
        assert level.max() == depth
