"""Columns as NumPy sees them, and sums over rows that belong together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Groups:
    """Runs of neighbouring rows that agree in some columns.

    Attributes:
        bounds: Where each begins, and where the last one ends.
    """

    bounds: Ints

    @classmethod
    def of(cls, *columns: NDArray[Any]) -> Groups:
        """Of rows sorted by these columns."""
        rows = len(columns[0])
        changes = np.zeros(max(rows - 1, 0), bool)
        for column in columns:
            changes |= column[1:] != column[:-1]
        begins = np.flatnonzero(changes) + 1
        return cls(np.concatenate([np.zeros(min(rows, 1), int), begins, [rows]]))

    @property
    def starts(self) -> Ints:
        """The first row of each."""
        return self.bounds[:-1]

    @property
    def sizes(self) -> Ints:
        """How many rows each has."""
        return np.diff(self.bounds)

    def sums(self, values: Floats) -> Floats:
        """The sum of each, rounded once: the rows' order can't change it."""
        listed = values.tolist()
        sums = [math.fsum(listed[start:end]) for start, end in pairwise(self.bounds.tolist())]
        return np.array(sums, float)

    def labels(self) -> Ints:
        """For each row the number of its group."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of texts of which few differ.

    Attributes:
        codes: For each row the place of its text among ``values``; -1 for null.
    """

    codes: Ints
    values: Sequence[str]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Texts:
        """Of a dictionary-encoded column."""
        array = column.unify_dictionaries().combine_chunks()
        codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return cls(codes.astype(np.int64), array.dictionary.to_pylist())

    def equal(self, text: str) -> Flags:
        """The rows that have this text."""
        equal: Flags = self.codes == (self.values.index(text) if text in self.values else -2)
        return equal

    def counts(self, among: Flags) -> dict[str, int]:
        """How many of some rows have which text, nulls apart, in the order of appearance."""
        places, first, counts = np.unique(
            self.codes[among & (self.codes >= 0)], return_index=True, return_counts=True
        )
        return {self.values[places[i]]: int(counts[i]) for i in np.argsort(first)}

    def joined(self, labels: Ints, count: int, among: Flags) -> list[str | None]:
        """For each of ``count`` groups the texts of some of its rows, joined by ``+``.

        Args:
            labels: For each row the number of its group.
            count: How many groups there are.
            among: The rows that count; null and the empty text don't.
        """
        found: list[str | None] = [None] * count
        told = among & (self.codes >= 0) & ~self.equal("")
        both = np.unique(labels[told] * len(self.values) + self.codes[told])
        if not len(both):
            return found
        owners, codes = np.divmod(both, len(self.values))
        groups, places = Groups.of(owners), codes.tolist()
        for owner, (start, end) in zip(
            owners[groups.starts].tolist(), pairwise(groups.bounds.tolist()), strict=True
        ):
            found[owner] = "+".join(sorted(self.values[place] for place in places[start:end]))
        return found


def encode_texts(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The table with these columns dictionary-encoded."""
    for name in names:
        place = table.schema.get_field_index(name)
        encoded = table.column(place).dictionary_encode().unify_dictionaries()
        table = table.set_column(place, name, encoded)
    return table
