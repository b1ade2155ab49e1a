"""C-BDT: boosted decision trees (MART) by LightGBM."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from runner.models.base import BinaryPathClassifier, parameters
from runner.models.family import INT32, Choice, Family, Parameter, Stop

PARAMETERS = parameters(
    Parameter("leaves", (2, 8, 32, 128), 20, "whole", low=2, high=131072),
    Parameter("min_leaf", (1, 10, 50), 10, "whole", low=1, high=INT32),
    Parameter(
        "learning_rate", (0.025, 0.05, 0.1, 0.2, 0.4), 0.2, "real", low=0, high=1, open_low=True
    ),
    Parameter("trees", (20, 100, 500), 100, "whole", low=1, high=INT32),
)


class BoostedTrees(BinaryPathClassifier):
    """Gradient boosted trees on log-loss, grown leaf by leaf on binned features.

    Azure's C-BDT is FastRank, an implementation of MART (Friedman 2001); LightGBM stands in for
    it: the same algorithm with at most 255 bins a feature and second-order leaf values. Features
    are used as they are. Values within 1e-35 of zero count as zero (LightGBM's threshold).

    Args:
        leaves: Most leaves of a tree.
        min_leaf: Fewest training rows of a leaf.
        learning_rate: Shrinkage of each tree.
        trees: Number of boosting rounds; fewer are grown where no leaf can be split any more.
        random_state: Seeds the sample from which bins are made (above 200,000 rows).
        threads: OpenMP threads of training and prediction; the numbers don't depend on it.

    Attributes:
        booster_: The LightGBM booster, perhaps with more trees than ``trees_``.
        trees_: The number of boosting rounds that predictions use.
    """

    shared: ClassVar[tuple[str, ...]] = ("trees",)
    parameters: ClassVar[Mapping[str, Parameter | Choice]] = PARAMETERS

    def __init__(
        self,
        leaves: int = 20,
        min_leaf: int = 10,
        learning_rate: float = 0.2,
        trees: int = 100,
        random_state: int | None = 0,
        threads: int = 1,
    ):
        self.leaves = leaves
        self.min_leaf = min_leaf
        self.learning_rate = learning_rate
        self.trees = trees
        self.random_state = random_state
        self.threads = threads

    def _prepare(self, X: np.ndarray, positive: np.ndarray) -> Any:
        import lightgbm

        label = positive.astype(np.float32)
        return lightgbm.Dataset(X, label, params=self._binning()).construct()

    def _train(self, rows: Any, stops: Sequence[Stop]) -> Iterator[None]:
        import lightgbm

        values = self._passed(stops)
        self.booster_ = lightgbm.Booster(self._binning() | self._growing(), rows)
        grown, exhausted = 0, False
        for (value,) in values:
            while grown < value:
                # Rounds without bagging start from the same gradients after one that found
                # nothing to split: it will be so for all that follow.
                exhausted = exhausted or self.booster_.update()
                grown = value if exhausted else grown + 1
            self.trees_ = value
            yield None

    def _margin(self, X: np.ndarray) -> np.ndarray:
        margin: np.ndarray = self.booster_.predict(
            X, raw_score=True, num_iteration=self.trees_, num_threads=self.threads
        )
        return margin

    def _binning(self) -> dict[str, Any]:
        # Without the pre-filter bins don't depend on min_leaf and serve every configuration.
        # With column-wise histograms sums don't depend on the number of threads.
        return {
            "feature_pre_filter": False,
            "force_col_wise": True,
            "deterministic": True,
            "seed": (self.random_state or 0) % (INT32 + 1),
            "num_threads": self.threads,
            "verbosity": -1,
        }

    def _growing(self) -> dict[str, Any]:
        # min_sum_hessian_in_leaf stays at its default: at 1e-15 and less LightGBM aborts.
        return {
            "objective": "binary",
            "metric": "None",
            "num_leaves": self.leaves,
            "min_data_in_leaf": self.min_leaf,
            "learning_rate": self.learning_rate,
        }


def _estimator(configuration: Mapping[str, Any], *, seed: int, threads: int) -> BoostedTrees:
    return BoostedTrees(**configuration, random_state=seed, threads=threads)


def _cost(configuration: Mapping[str, Any], rows: int, columns: int) -> float:
    # A tree costs its histograms (half the rows again at each doubling of leaves) and a scan of
    # the bins at each leaf. Small data run out of leaves worth splitting and of distinct values.
    leaves = min(configuration["leaves"], 2 + rows / max(configuration["min_leaf"], 40))
    bins = min(255, rows / 5)
    histograms = 1.1e-9 * rows * columns * (1 + math.log2(leaves) / 2)
    scans = 1e-8 * leaves * columns * bins
    return float(configuration["trees"] * (5e-5 + histograms + scans))


BOOSTED_TREES = Family(
    name="C-BDT",
    version=1,
    libraries=("lightgbm",),
    parameters=PARAMETERS,
    shared=("trees",),
    descending=False,
    linear=False,
    estimator=_estimator,
    cost=_cost,
    preload=("lightgbm",),
    seeded=False,
    order_free=True,
)
