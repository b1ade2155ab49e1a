"""XGB: boosted decision trees by XGBoost, on a grid shaped on C-BDT's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from runner.models.base import BinaryPathClassifier, parameters
from runner.models.family import INT32, Choice, Family, Parameter, Stop

FLOAT32 = float(np.finfo(np.float32).max)
BINS = 256

PARAMETERS = parameters(
    Parameter("leaves", (2, 8, 32, 128), 64, "whole", low=2, high=131072),
    Parameter("min_child_weight", (1.0, 10.0, 50.0), 1.0, "real", low=0),
    Parameter(
        "learning_rate", (0.025, 0.05, 0.1, 0.2, 0.4), 0.3, "real", low=0, high=1, open_low=True
    ),
    Parameter("trees", (20, 100, 500), 100, "whole", low=1, high=INT32),
)


class XGBoostTrees(BinaryPathClassifier):
    """XGBoost (Chen & Guestrin 2016) on log-loss, grown leaf by leaf on binned features.

    Grown as C-BDT is, by loss (``grow_policy=lossguide``) within a number of leaves and on at
    most 256 bins a feature, with XGBoost's L2 penalty of 1 on leaves. Features are cast to
    float32 and bounded by its range. The defaults are XGBoost's own; 64 leaves are as many as its
    depth of 6 allows. The same numbers came from any number of threads in all trials, as XGBoost
    sums float32 gradients in float64; it doesn't promise so.

    Args:
        leaves: Most leaves of a tree.
        min_child_weight: Least sum of hessians, p (1 - p), in a child: not a number of rows as
            C-BDT's ``min_leaf`` is. At first p is the positive rows' share, so that a row counts
            .25 at most, and less the surer the trees are.
        learning_rate: Shrinkage of each tree.
        trees: Number of boosting rounds.
        random_state: Accepted as all families do; nothing is drawn without subsampling.
        threads: OpenMP threads of training and prediction.

    Attributes:
        booster_: The XGBoost booster, perhaps with more trees than ``trees_``.
        trees_: The number of trees that predictions use.
    """

    shared: ClassVar[tuple[str, ...]] = ("trees",)
    parameters: ClassVar[Mapping[str, Parameter | Choice]] = PARAMETERS

    def __init__(
        self,
        leaves: int = 64,
        min_child_weight: float = 1.0,
        learning_rate: float = 0.3,
        trees: int = 100,
        random_state: int | None = 0,
        threads: int = 1,
    ):
        self.leaves = leaves
        self.min_child_weight = min_child_weight
        self.learning_rate = learning_rate
        self.trees = trees
        self.random_state = random_state
        self.threads = threads

    def _prepare(self, X: np.ndarray, positive: np.ndarray) -> Any:
        import xgboost

        label = positive.astype(np.float32)
        return xgboost.QuantileDMatrix(_narrowed(X), label, max_bin=BINS, nthread=self.threads)

    def _train(self, rows: Any, stops: Sequence[Stop]) -> Iterator[None]:
        import xgboost

        values = self._passed(stops)
        self.booster_ = xgboost.Booster(self._growing(), [rows])
        grown = 0
        for (value,) in values:
            for round_ in range(grown, value):
                self.booster_.update(rows, round_)
            grown = value
            self.trees_ = value
            yield None

    def _margin(self, X: np.ndarray) -> np.ndarray:
        margin = self.booster_.inplace_predict(
            _narrowed(X), iteration_range=(0, self.trees_), predict_type="margin"
        )
        return np.asarray(margin, np.float64)

    def _growing(self) -> dict[str, Any]:
        return {
            "objective": "binary:logistic",
            "tree_method": "hist",
            "max_bin": BINS,
            "grow_policy": "lossguide",
            "max_leaves": self.leaves,
            "max_depth": 0,
            "min_child_weight": self.min_child_weight,
            "learning_rate": self.learning_rate,
            "seed": (self.random_state or 0) % (INT32 + 1),
            "nthread": self.threads,
            "verbosity": 0,
        }


def _narrowed(X: np.ndarray) -> np.ndarray:
    narrowed: np.ndarray = np.clip(X, -FLOAT32, FLOAT32).astype(np.float32)
    return narrowed


def _estimator(configuration: Mapping[str, Any], *, seed: int, threads: int) -> XGBoostTrees:
    return XGBoostTrees(**configuration, random_state=seed, threads=threads)


def _cost(configuration: Mapping[str, Any], rows: int, columns: int) -> float:
    # As C-BDT's: histograms of half the rows at each doubling of leaves, a scan of bins a leaf.
    # On four real sets a row's p (1 - p) fell from .16 to .24 at first to a mean of .02 to .19
    # over 100 rounds. Taken as .05, it gives the number of leaves mostly within a factor of three.
    heavy = 1 + 0.05 * rows / max(configuration["min_child_weight"], 0.5)
    leaves = min(configuration["leaves"], heavy)
    bins = min(BINS, rows / 5)
    histograms = 1.1e-9 * rows * columns * (1 + math.log2(leaves) / 2)
    scans = 1.8e-8 * leaves * columns * bins
    return float(configuration["trees"] * (6e-5 + histograms + scans))


XGBOOST_TREES = Family(
    name="XGB",
    version=1,
    libraries=("xgboost",),
    parameters=PARAMETERS,
    shared=("trees",),
    descending=False,
    linear=False,
    estimator=_estimator,
    cost=_cost,
    preload=("xgboost",),
    seeded=False,
    order_free=True,
)
