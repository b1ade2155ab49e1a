"""ARFF files: the format of the OpenML server, of its data, its folds and its predictions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from runner.data.table import Table
from runner.data.task import TaskError

_DATA = re.compile(r"^[ \t]*@data\b[^\n]*$", re.IGNORECASE | re.MULTILINE)
_COMMENT = re.compile(r"^%.*\n?", re.MULTILINE)
_ODD = "\\%{\t"
"""Escapes, comments beside values, sparse rows, tabs between values."""
_WITHIN = re.compile(r"""(?<![,\n'" ])['"](?![,\n'" ])""")
"""A quote within a value."""
_PADDED = re.compile(r" +,|, +|^ +| +$", re.MULTILINE)
_LINE = re.compile(r",? (?:at|in) line \d+")
_MISSING = ("?", "")
_LONGEST_ROW = 2**24
"""Bytes: Arrow's reader wants a row whole within one block."""


@dataclass(frozen=True)
class _Attribute:
    """An attribute as the header declares it.

    Attributes:
        kind: ``NUMERIC``, ``REAL``, ``INTEGER`` or ``STRING``, or the values of a nominal one.
    """

    name: str
    kind: str | list[str]

    @property
    def numeric(self) -> bool:
        return self.kind in ("NUMERIC", "REAL", "INTEGER")

    def allows(self, column: pa.ChunkedArray) -> bool:
        """Whether no value is other than those declared."""
        if isinstance(self.kind, str):
            return True
        return set(column.unique().to_pylist()) <= {None, *self.kind}

    def typed(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """The column, marked as categories where it is declared as such."""
        return column if isinstance(self.kind, str) else column.dictionary_encode()

    def array(self, values: Any) -> pa.Array:
        if self.numeric:
            return pa.array(np.array(values, dtype=np.float64), from_pandas=True)
        return pa.array(values, pa.string())

    def unsaid(self, rows: int) -> np.ndarray:
        """What a sparse file's rows hold where they say nothing."""
        if self.numeric:
            return np.zeros(rows)
        first = self.kind[0] if isinstance(self.kind, list) and self.kind else ""
        return np.full(rows, first, dtype=object)


@dataclass(frozen=True)
class Arff:
    """An ARFF file's content.

    Attributes:
        columns: By attribute, in the file's order: float64 for numbers, text for strings, and for
            nominal ones text as well, as a dictionary where every value is a declared one.
    """

    columns: dict[str, pa.ChunkedArray]

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0


class ArffError(ValueError):
    """A file that isn't ARFF.

    Args:
        line: The line at fault, counted from 1; None where the whole is.
    """

    def __init__(self, text: str, line: int | None = None):
        super().__init__(text)
        self.line = line


def read_arff(path: Path, key: str) -> Table:
    """A table from an ARFF file, dense or sparse.

    Nominal attributes are categories with their declared texts, whatever these look like.

    Args:
        path: The file, in UTF-8; a NUL at its end is let pass.
        key: The study's key that named the file.

    Raises:
        TaskError: The file isn't ARFF (with its line), or its names don't differ.
    """
    try:
        found = parse_arff(path.read_bytes().decode("utf-8"))
    except ArffError as error:
        place = str(path) if error.line is None else f"{path}:{error.line}"
        raise TaskError(f"{place}: {error}", key=key) from error
    return Table(str(path), key, found.columns)


def parse_arff(text: str) -> Arff:
    """The content of an ARFF file.

    Raises:
        ArffError: It isn't one.
    """
    text = text.rstrip("\0 \r\n\t").replace("\r\n", "\n")
    data = _DATA.search(text)
    if data is None:
        raise ArffError("there is no @data, so this is no ARFF file")
    attributes = _attributes(text[: data.end()])
    body = text[data.end() + 1 :]
    columns = _quickly(body, attributes)
    if columns is None:
        columns = _surely(text, attributes, sparse=body.lstrip().startswith("{"))
    return Arff(columns)


def _attributes(header: str) -> list[_Attribute]:
    import arff

    with _located():
        return [_Attribute(name, kind) for name, kind in arff.loads(header)["attributes"]]


def _quickly(body: str, attributes: Sequence[_Attribute]) -> dict[str, pa.ChunkedArray] | None:
    """The columns by Arrow's reader of CSV, several times as fast as liac-arff.

    Returns:
        None where it might read the text otherwise than ARFF means it, or finds it wrong.
    """
    if "%" in body:
        body = _COMMENT.sub("", body)
    quotes = [quote for quote in "'\"" if quote in body]
    odd = any(character in body for character in _ODD) or (quotes and _WITHIN.search(body))
    if not body or len(quotes) > 1 or odd:
        return None
    if " " in body and _PADDED.search(body):
        if quotes:
            return None
        body = _PADDED.sub(lambda found: found[0].strip(" "), body)
    names = [str(index) for index in range(len(attributes))]
    types = [pa.float64() if attribute.numeric else pa.string() for attribute in attributes]
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(body.encode()),
            read_options=pa.csv.ReadOptions(column_names=names, block_size=_LONGEST_ROW),
            parse_options=pa.csv.ParseOptions(
                quote_char=quotes[0] if quotes else False, double_quote=False
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict(zip(names, types, strict=True)),
                null_values=_MISSING,
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    columns = {}
    for attribute, column in zip(attributes, table.columns, strict=True):
        if not attribute.allows(column):
            return None
        columns[attribute.name] = attribute.typed(column)
    return columns


def _surely(
    text: str, attributes: Sequence[_Attribute], *, sparse: bool
) -> dict[str, pa.ChunkedArray]:
    """The columns by liac-arff, which knows all of the format and the line of what is wrong."""
    import arff

    with _located():
        found = arff.loads(text, return_type=arff.LOD if sparse else arff.DENSE)["data"]
        values = _sparse(found, attributes) if sparse else _dense(found, attributes)
    return {
        attribute.name: attribute.typed(pa.chunked_array([attribute.array(column)]))
        for attribute, column in zip(attributes, values, strict=True)
    }


def _dense(rows: Iterable[Sequence[Any]], attributes: Sequence[_Attribute]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in attributes]


def _sparse(
    rows: Iterable[Mapping[int, Any]], attributes: Sequence[_Attribute]
) -> list[np.ndarray]:
    """Columns from rows that name only some values; the others are 0, or a nominal's first."""
    given = list(rows)
    columns = [attribute.unsaid(len(given)) for attribute in attributes]
    for row, values in enumerate(given):
        for column, value in values.items():
            columns[column][row] = value
    return columns


@contextmanager
def _located() -> Iterator[None]:
    """Within it what liac-arff raises says the line."""
    import arff

    try:
        yield
    except arff.ArffException as error:
        line = error.line if isinstance(error.line, int) and error.line > 0 else None
        text = _LINE.sub("", str(error)).rstrip(".").replace("instance format:", "format:")
        raise ArffError(f"{text[:1].lower()}{text[1:]}", line) from error
