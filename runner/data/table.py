"""The columns of a table as they were read, before anything is known of a task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from runner.data.task import Kind, TaskError

GAPS = ("", "?", "NA", "NaN", "nan")
"""What stands for a missing feature in a CSV file (blanks around it don't count)."""


@dataclass(frozen=True)
class Table:
    """Columns by name, each from one place.

    Attributes:
        origin: Where they are from, as a message names it.
        key: The study's key that named this place.
        untyped: All columns are text whose kind the content has to tell, as in a CSV file.
    """

    origin: str
    key: str
    columns: Mapping[str, pa.ChunkedArray]
    untyped: bool = False

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0


@dataclass(frozen=True)
class Coded:
    """A column of texts: int32 (n,) indices into sorted levels, -1 for a gap."""

    codes: NDArray[np.int32]
    levels: tuple[str, ...]


def kind(column: pa.ChunkedArray, *, untyped: bool) -> Kind | None:
    """What a feature is; None for one that is nothing but gaps.

    An untyped column is numeric if every cell that is no gap reads as a number. A typed one is
    numeric if it holds numbers, and categorical if it holds text, booleans, or values that the
    file itself declares as categories (Arrow's dictionary, pandas' categorical), numbers too.

    Raises:
        ValueError: For types that are neither, such as dates and lists; says what would be right.
    """
    if untyped:
        column = _with_gaps(column)
    if column.null_count == len(column):
        return None
    if untyped:
        return "categorical" if _parsed(column) is None else "numeric"
    if _is_number(column.type):
        return "numeric"
    if _is_text(column.type) or pa.types.is_boolean(column.type):
        return "categorical"
    if pa.types.is_dictionary(column.type):
        return "categorical"
    raise ValueError(f"is of type {column.type}: store it as a number or as text")


def numbers(column: pa.ChunkedArray, *, untyped: bool) -> NDArray[np.float64]:
    """The column as float64 (n,), NaN where there is a gap; of a numeric column only."""
    if column.null_count == len(column):
        return np.full(len(column), np.nan)
    converted = _parsed(_with_gaps(column)) if untyped else column.cast(pa.float64(), safe=False)
    if converted is None:
        raise ValueError("holds text")
    values = np.asarray(converted.to_numpy(), dtype=np.float64)
    # 0 and -0 are one number, whichever of them a file's writer chose.
    return np.where(np.isnan(values), np.nan, values + 0.0)


def categories(column: pa.ChunkedArray, *, untyped: bool) -> Coded:
    """The column as texts; in an untyped column the marks of ``GAPS`` are gaps."""
    return coded(_with_gaps(column) if untyped else column)


def labels(column: pa.ChunkedArray, *, untyped: bool) -> Coded:
    """A target's texts, kept as they stand: ``NA`` and ``?`` are labels, an empty cell isn't."""
    if untyped:
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
    return coded(column)


def coded(column: pa.ChunkedArray) -> Coded:
    """Any column as the texts of its values.

    Whole numbers have no decimal point, whatever their type: 1 and 1.0 are ``1``.

    Raises:
        ValueError: For types that have no text, such as dates and lists.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (_is_number(column.type) or _is_text(column.type) or _is_plain(column.type)):
        raise ValueError(f"is of type {column.type}: store it as text")
    if pa.types.is_string_view(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.string())
    encoded = column.combine_chunks().dictionary_encode()
    texts = [_text(value) for value in encoded.dictionary.to_pylist()]
    levels = tuple(sorted({text for text in texts if text is not None}))
    code_of = {text: code for code, text in enumerate(levels)}
    # The last entry serves the nulls, whose index is -1.
    lookup = np.array([-1 if t is None else code_of[t] for t in texts] + [-1], dtype=np.int32)
    return Coded(lookup[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)], levels)


def stacked(parts: list[Coded]) -> Coded:
    """Columns one below the other, with the levels of all."""
    levels = tuple(sorted({level for part in parts for level in part.levels}))
    code_of = {text: code for code, text in enumerate(levels)}
    codes = [
        np.array([code_of[text] for text in part.levels] + [-1], dtype=np.int32)[part.codes]
        for part in parts
    ]
    return Coded(np.concatenate(codes), levels)


def checked(table: Table) -> Table:
    """The table, if it has rows and its target and features can be told apart by name."""
    if not table.rows:
        raise TaskError(f"{table.origin} has no rows", key=table.key)
    if "" in table.columns:
        raise TaskError(
            f"{table.origin}: a column without a name; name it, or leave it out (pandas writes "
            "its index so unless index=False)",
            key=table.key,
        )
    return table


def unique_names(names: list[str], origin: str, key: str) -> None:
    """Refuse a column name that stands twice."""
    for name, times in Counter(names).items():
        if times > 1:
            raise TaskError(
                f"{origin}: column {name!r} stands {times} times; names must differ", key=key
            )


def _with_gaps(column: pa.ChunkedArray) -> pa.ChunkedArray:
    gap = pc.is_in(pc.utf8_trim_whitespace(column), pa.array(GAPS, column.type))
    return pc.if_else(gap, pa.scalar(None, column.type), column)


def _parsed(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    try:
        return pc.utf8_trim_whitespace(column).cast(pa.float64())
    except pa.ArrowInvalid:
        return None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    number = float(value)
    if np.isnan(number):
        return None
    return str(int(number)) if number.is_integer() else repr(number)


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _is_plain(kind: pa.DataType) -> bool:
    return bool(pa.types.is_boolean(kind) or pa.types.is_null(kind))
