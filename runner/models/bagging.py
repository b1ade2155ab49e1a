"""Ensembles of trees or DAGs on bags of rows, whose growth passes through all smaller ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from runner.models.base import BinaryPathClassifier
from runner.models.binning import Binning
from runner.models.family import Spent, Stop


@dataclass(frozen=True)
class BinnedRows:
    """Training rows: ``codes`` (columns, rows) uint8, ``positive`` (rows,) bool."""

    binning: Binning
    codes: np.ndarray
    positive: np.ndarray


@dataclass
class Grove:
    """Some trees of an ensemble in growth; the arrays are described in ``kernels.bagging``.

    Attributes:
        trees: How many.
        depth: The levels grown.
    """

    trees: int
    depth: int
    rows: np.ndarray
    weights: np.ndarray
    nodes: np.ndarray
    frontier: np.ndarray


class BaggedClassifier(BinaryPathClassifier):
    """The frame of C-DF and C-DJ: ``shared`` names the number of members, then their depth.

    Each member is grown on a bag of its own: as many rows as there are, drawn with replacement.
    What a member becomes depends on the seed, its number and the rows in their order alone, and
    what its first levels are doesn't depend on those below. So a path grows members to the
    depths at which it stops, and each smaller ensemble is found in it.
    """

    random_state: int | None
    threads: int

    @abstractmethod
    def _grow(self, rows: Any, grove: Grove, depth: int) -> None:
        """Grow the members of a grove, in place, from its depth to that one."""

    @staticmethod
    @abstractmethod
    def _fractions(counts: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Probabilities less 1/2, from what ``kernels.bagging.descend`` adds up."""

    def _prepare(self, X: np.ndarray, positive: np.ndarray) -> Any:
        binning = Binning.learn(X)
        codes = np.ascontiguousarray(binning.apply(X).T)
        return BinnedRows(binning, codes, np.ascontiguousarray(positive))

    def _train(self, rows: Any, stops: Sequence[Stop]) -> Iterator[Spent]:
        from runner.models.kernels import bagging  # noqa: F401  (before the clock)

        points = self._passed(stops)
        self._binning = rows.binning
        with _Workers(self.threads) as workers:
            blocks: list[_Block] = []
            for (members, depth), (_, following) in pairwise([*points, points[-1]]):
                planted = blocks[-1].stop if blocks else 0
                if members > planted:
                    depths = sorted({d for m, d in points if m >= members})
                    blocks.append(_Block(self, rows, workers, planted, members, depths))
                for block in blocks:
                    block.grow_to(depth)
                self._models = [model for block in blocks for model in block.models[depth]]
                yield Spent(
                    own=sum(block.seconds[depth] for block in blocks),
                    ahead=sum(block.spent_to(following) for block in blocks),
                )

    def _margin(self, X: np.ndarray) -> np.ndarray:
        from runner.models.kernels import bagging

        codes = self._binning.apply(X)
        counts = np.zeros((len(X), 2), dtype=np.int64)
        shares = np.zeros(len(X))
        for trees, nodes in self._models:
            bagging.descend(codes, nodes, trees, counts, shares)
        return self._fractions(counts, shares / sum(trees for trees, _ in self._models))

    def _probability(self, margin: np.ndarray) -> np.ndarray:
        return margin + 0.5


class _Workers:
    """Runs tasks in threads where there are several, else one after the other."""

    def __init__(self, threads: int):
        self.count = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown()

    def each(self, function: Any, items: Iterable[Any]) -> list[Any]:
        return list((self._pool.map if self._pool else map)(function, items))


class _Block:
    """Members ``start`` to ``stop`` of an ensemble, which pauses at the same depths for them all.

    Attributes:
        seconds: By depth paused at, how long the members take to it.
        models: By depth paused at, (number of members, nodes) of each grove.
    """

    def __init__(
        self,
        estimator: BaggedClassifier,
        rows: Any,
        workers: _Workers,
        start: int,
        stop: int,
        depths: Sequence[int],
    ):
        self.stop = stop
        self.seconds: dict[int, float] = {}
        self.models: dict[int, list[tuple[int, np.ndarray]]] = {}
        self._estimator = estimator
        self._rows = rows
        self._workers = workers
        self._depths = list(depths)
        self._bounds = np.linspace(start, stop, min(workers.count, stop - start) + 1).astype(int)
        self._groves: list[Grove] = []
        self._spent = 0.0

    def grow_to(self, depth: int) -> None:
        while self._depths and self._depths[0] <= depth:
            self._pause(self._depths.pop(0))

    def spent_to(self, depth: int) -> float:
        """Seconds spent so far on levels down to ``depth``."""
        return max((s for d, s in self.seconds.items() if d <= depth), default=0.0)

    def _pause(self, depth: int) -> None:
        began = perf_counter()
        if not self._groves:
            self._groves = self._workers.each(self._plant, pairwise(self._bounds))
        # Where all members are complete, a call would cost more than its work.
        growing = [grove for grove in self._groves if len(grove.frontier) > 0]
        self._workers.each(lambda grove: self._estimator._grow(self._rows, grove, depth), growing)
        self._spent += perf_counter() - began
        self.seconds[depth] = self._spent
        self.models[depth] = [(grove.trees, grove.nodes) for grove in self._groves]

    def _plant(self, bounds: tuple[int, int]) -> Grove:
        from runner.models.kernels import bagging

        first, trees, count = bounds[0], bounds[1] - bounds[0], len(self._rows.positive)
        grove = Grove(
            trees,
            0,
            rows=np.empty((trees, count), dtype=np.int32),
            weights=np.empty((trees, count), dtype=np.int64),
            nodes=np.empty((trees, 6), dtype=np.int32),
            frontier=np.empty((trees, 5), dtype=np.int64),
        )
        seed = (self._estimator.random_state or 0) % 2**63
        bagging.plant(
            self._rows.positive, seed, first, grove.rows, grove.weights, grove.nodes, grove.frontier
        )
        return grove
