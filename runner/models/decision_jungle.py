"""C-DJ: a decision jungle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from runner.models.bagging import BaggedClassifier, BinnedRows, Grove
from runner.models.base import parameters
from runner.models.family import INT32, Choice, Family, Parameter

PARAMETERS = parameters(
    Parameter("dags", (1, 8, 32), 8, "whole", low=1, high=INT32),
    Parameter("depth", (1, 16, 64), 32, "whole", low=1, high=INT32),
    Parameter("width", (1, 128, 1024), 128, "whole", low=1, high=INT32),
    Parameter("steps", (1024, 4096, 16384), 2048, "whole", low=1, high=INT32),
)


@dataclass(frozen=True)
class _Rows(BinnedRows):
    """Training rows; ``table`` holds x log2(x) for all numbers of rows, in units of energy."""

    table: np.ndarray


class DecisionJungle(BaggedClassifier):
    """Bagged decision DAGs of bounded width, grown level by level by LSearch.

    Follows Shotton, Sharp, Kohli, Nowozin, Winn & Criminisi (2013), as Azure's C-DJ does: the
    nodes of a level choose splits and common children so that the children's energy, the sum of
    rows times entropy, is low. A row's probability is the mean over DAGs of its node's share of
    positive rows. Readings where the paper leaves a choice: a step is one random parent, with one
    random split of it and the best children for its two branches (``kernels.jungle.search``);
    pure nodes of a class go on as one node; growth ends where a level's energy doesn't fall; at
    most 64 bins a feature (``binning.Binning``). A DAG of width 1 is its root: all scores are
    equal.

    Bags are drawn by row number, so the jungle depends on the order of the rows.

    Args:
        dags: Number of DAGs.
        depth: Most splits between the root and a leaf.
        width: Most nodes of a level.
        steps: Steps of the search, a level.
        random_state: Seeds bags and searches.
        threads: Threads over DAGs in training; the numbers don't depend on it.
    """

    shared: ClassVar[tuple[str, ...]] = ("dags", "depth")
    parameters: ClassVar[Mapping[str, Parameter | Choice]] = PARAMETERS

    def __init__(
        self,
        dags: int = 8,
        depth: int = 32,
        width: int = 128,
        steps: int = 2048,
        random_state: int | None = 0,
        threads: int = 1,
    ):
        self.dags = dags
        self.depth = depth
        self.width = width
        self.steps = steps
        self.random_state = random_state
        self.threads = threads

    def _prepare(self, X: np.ndarray, positive: np.ndarray) -> _Rows:
        from runner.models.kernels import jungle

        binned = super()._prepare(X, positive)
        table = jungle.tabulate(len(X))
        return _Rows(binned.binning, binned.codes, binned.positive, table)

    def _grow(self, rows: _Rows, grove: Grove, depth: int) -> None:
        from runner.models.kernels import jungle

        grove.nodes, grove.frontier = jungle.grow(
            rows.codes,
            rows.binning.varying,
            rows.table,
            grove.rows,
            grove.weights,
            grove.nodes,
            grove.frontier,
            grove.depth,
            depth,
            self.width,
            self.steps,
        )
        grove.depth = depth

    @staticmethod
    def _fractions(counts: np.ndarray, shares: np.ndarray) -> np.ndarray:
        return shares - 0.5


def _estimator(configuration: Mapping[str, Any], *, seed: int, threads: int) -> DecisionJungle:
    return DecisionJungle(**configuration, random_state=seed, threads=threads)


def _cost(configuration: Mapping[str, Any], rows: int, columns: int) -> float:
    # Fitted to measured seconds. A step counts a parent's rows, and where parents want more
    # children than there may be, it compares them all.
    width, steps = configuration["width"], configuration["steps"]
    levels = min(configuration["depth"], math.log2(rows)) if width > 1 else 0
    scarce = rows > 10 * width
    step = 3e-10 * max(20, min(2 * rows / width, 4000)) + (5e-11 * width if scarce else 0)
    level = 4e-8 * rows * (1 + steps / 20_000) + steps * step
    return float(3e-5 + configuration["dags"] * (7e-9 * rows + levels * level))


DECISION_JUNGLE = Family(
    name="C-DJ",
    version=2,
    libraries=(),
    parameters=PARAMETERS,
    shared=("dags", "depth"),
    descending=False,
    linear=False,
    estimator=_estimator,
    cost=_cost,
    preload=tuple(f"runner.models.kernels.{name}" for name in ("binning", "jungle", "bagging")),
    seeded=True,
)
