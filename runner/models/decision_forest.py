"""C-DF: a decision forest of random splits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from runner.models.bagging import BaggedClassifier, BinnedRows, Grove
from runner.models.base import parameters
from runner.models.binning import BINS
from runner.models.family import INT32, Choice, Family, Parameter

PARAMETERS = parameters(
    Parameter("trees", (1, 8, 32), 8, "whole", low=1, high=INT32),
    Parameter("depth", (1, 16, 64), 32, "whole", low=1, high=INT32),
    Parameter("splits", (1, 128, 1024), 128, "whole", low=1, high=INT32),
    Parameter("min_leaf", (1, 4, 16), 1, "whole", low=1, high=INT32),
)


class DecisionForest(BaggedClassifier):
    """Bagged decision trees, each node the best of some random splits.

    Follows Azure's C-DF: bagging, and a split chosen among random pairs of feature and threshold
    (Criminisi, Shotton & Konukoglu 2011); a row's probability is the share of positive rows in
    all the leaves it reaches together, so that large leaves weigh more. Splits are judged by Gini
    impurity on at most 64 bins a feature (``binning.Binning``); the threshold is drawn evenly
    from the bins that the node's rows span. With one split that is the rule of extremely
    randomised trees (Geurts, Ernst & Wehenkel 2006), with many that of random forests with all
    features. Integers and plain arithmetic: equal bits on every machine.

    Bags are drawn by row number, so the forest depends on the order of the rows.

    Args:
        trees: Number of trees.
        depth: Most splits between the root and a leaf.
        splits: Random candidates at each node.
        min_leaf: Fewest rows of the bag in a leaf, repeated ones counted each time.
        random_state: Seeds bags and candidates.
        threads: Threads over trees in training; the numbers don't depend on it.
    """

    shared: ClassVar[tuple[str, ...]] = ("trees", "depth")
    parameters: ClassVar[Mapping[str, Parameter | Choice]] = PARAMETERS

    def __init__(
        self,
        trees: int = 8,
        depth: int = 32,
        splits: int = 128,
        min_leaf: int = 1,
        random_state: int | None = 0,
        threads: int = 1,
    ):
        self.trees = trees
        self.depth = depth
        self.splits = splits
        self.min_leaf = min_leaf
        self.random_state = random_state
        self.threads = threads

    def _grow(self, rows: BinnedRows, grove: Grove, depth: int) -> None:
        from runner.models.kernels import forest

        grove.nodes, grove.frontier = forest.grow(
            rows.codes,
            rows.binning.varying,
            grove.rows,
            grove.weights,
            grove.nodes,
            grove.frontier,
            depth - grove.depth,
            self.splits,
            self.min_leaf,
        )
        grove.depth = depth

    @staticmethod
    def _fractions(counts: np.ndarray, shares: np.ndarray) -> np.ndarray:
        total, positive = counts[:, 0], counts[:, 1]
        margin: np.ndarray = (2 * positive - total) / (2 * total)
        return margin


def _estimator(configuration: Mapping[str, Any], *, seed: int, threads: int) -> DecisionForest:
    return DecisionForest(**configuration, random_state=seed, threads=threads)


def _cost(configuration: Mapping[str, Any], rows: int, columns: int) -> float:
    # Fitted to measured seconds: each level of a tree reads its rows once for each feature drawn,
    # and each node draws its candidates, of which no more than there are cuts matter.
    trees, splits = configuration["trees"], configuration["splits"]
    leaves = min(
        2.0 ** min(configuration["depth"], 64), 1 + 1.2 * rows / (configuration["min_leaf"] + 3)
    )
    levels = min(configuration["depth"], 1 + math.log2(leaves))
    drawn = -columns * math.expm1(-splits / columns)
    reading = rows * (1.2e-8 + levels * (2.1e-9 + 1.5e-9 * drawn))
    nodes = leaves * (3.6e-7 + 9e-10 * min(splits, BINS * columns))
    return float(5e-5 + trees * (reading + nodes))


DECISION_FOREST = Family(
    name="C-DF",
    version=1,
    libraries=(),
    parameters=PARAMETERS,
    shared=("trees", "depth"),
    descending=False,
    linear=False,
    estimator=_estimator,
    cost=_cost,
    preload=tuple(f"runner.models.kernels.{name}" for name in ("binning", "forest", "bagging")),
    seeded=True,
)
