"""Columns as bins: what trees that choose among thresholds read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

BINS = 64


@dataclass(frozen=True)
class Binning:
    """At most 64 bins a column, cut at quantiles of the training rows.

    Exact where a column has no more distinct values: a cut halves the way between neighbours.

    Attributes:
        cuts: (columns, 63), ascending, the unused ones infinite: bin i holds values above cut
            i - 1 and up to cut i.
        varying: Which columns have more than one bin, (at most columns,) int32.
    """

    cuts: np.ndarray
    varying: np.ndarray

    @classmethod
    def learn(cls, X: np.ndarray) -> Self:
        """From training rows X (rows, columns), finite float64."""
        from runner.models.kernels import binning

        cuts = np.empty((X.shape[1], BINS - 1))
        made = [binning.learn(np.sort(X[:, column]), row) for column, row in enumerate(cuts)]
        return cls(cuts, np.flatnonzero(made).astype(np.int32))

    def apply(self, X: np.ndarray) -> np.ndarray:
        """The bins of X (rows, columns), uint8, C-contiguous."""
        from runner.models.kernels import binning

        codes = np.empty(X.shape, dtype=np.uint8)
        binning.apply(np.ascontiguousarray(X), self.cuts, codes)
        return codes
