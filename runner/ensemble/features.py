"""The task's features as numbers, for techniques that read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class Encoding:
    """How gaps and categories become numbers.

    Attributes:
        gap: What stands for a missing number; None for one below all that the fitted rows have.
        drop_first: Whether the first category has no column, which a row of zeros then means.
    """

    gap: float | None = None
    drop_first: bool = False


ORIGINAL_ENCODING = Encoding(gap=-1.0, drop_first=True)
"""The original's: -1 for gaps, whatever else is -1, and scikit-learn's ``OneHotEncoder``."""


@dataclass(frozen=True)
class UnitVariance:
    """Brings encoded features to mean 0 and variance 1; a constant column to 0.

    Attributes:
        mean: (columns,).
        deviation: (columns,), 1 where it would be 0.
    """

    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def learn(cls, X: np.ndarray) -> UnitVariance:
        """From rows (rows, columns)."""
        deviation = X.std(axis=0)
        return cls(X.mean(axis=0), np.where(deviation > 0, deviation, 1.0))

    def apply(self, X: np.ndarray) -> np.ndarray:
        """The rows (rows, columns) in these units."""
        scaled: np.ndarray = (X - self.mean) / self.deviation
        return scaled


def encode(
    features: pa.Table,
    categorical: Sequence[str],
    fitted: np.ndarray,
    asked: np.ndarray,
    encoding: Encoding = Encoding(),
) -> tuple[np.ndarray, np.ndarray]:
    """Two parts of a table as numbers, by what the first one holds.

    Numeric columns come first, then each categorical column's categories, sorted, a gap last. A
    category that the fitted rows lack is all zeros.

    Args:
        features: The table.
        categorical: Its columns of categories.
        fitted: Positions of the rows to learn from.
        asked: Positions of the other rows.
        encoding: How.

    Returns:
        Two float64 arrays (rows, columns), without NaN.
    """
    both: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    names = [name for name in features.column_names if name not in categorical]
    for name in (*names, *(name for name in features.column_names if name in categorical)):
        column = features.column(name).combine_chunks()
        write = _categories if name in categorical else _numbers
        for part, columns in zip(both, write(column, fitted, asked, encoding), strict=True):
            part.append(columns)
    one, other = both
    return (
        np.hstack([np.zeros((len(fitted), 0)), *one]),
        np.hstack([np.zeros((len(asked), 0)), *other]),
    )


def _numbers(
    column: pa.Array, fitted: np.ndarray, asked: np.ndarray, encoding: Encoding
) -> tuple[np.ndarray, np.ndarray]:
    values = pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False)
    one, other = values[fitted], values[asked]
    gap = encoding.gap
    if gap is None:
        known = one[np.isfinite(one)]
        gap = float(known.min()) - 1.0 if len(known) else 0.0
    parts = (np.where(np.isnan(part), gap, part)[:, np.newaxis] for part in (one, other))
    first, second = parts
    return first, second


def _categories(
    column: pa.Array, fitted: np.ndarray, asked: np.ndarray, encoding: Encoding
) -> tuple[np.ndarray, np.ndarray]:
    codes = _codes(column)
    used = np.unique(codes[fitted])[int(encoding.drop_first) :]
    one, other = (
        (codes[rows][:, np.newaxis] == used).astype(np.float64) for rows in (fitted, asked)
    )
    return one, other


def _codes(column: pa.Array) -> np.ndarray:
    """(rows,) int64, the categories' places in their order; a gap's is behind all."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    known = pc.unique(column.drop_null())
    ordered = known.take(pc.sort_indices(known))
    found = pc.index_in(column, value_set=ordered)
    codes = pc.fill_null(found, len(ordered)).to_numpy(zero_copy_only=False)
    return np.asarray(codes, dtype=np.int64)
