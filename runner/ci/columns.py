"""Files of ids with a class each, Parquet or CSV: told apart by their content, not their name."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.errors import InputError, suggestion

ID = "id"
# Beside the ids the only column may have any name but one of these: labels aren't predictions.
_OTHER = {"prediction": "label", "score": "label", "label": "prediction"}
_NO_NUMBER = "nan"
_WHOLE = re.compile(r"([+-]?[0-9]+)\.0*$")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Columns:
    """A file's rows in its own order.

    Attributes:
        path: For messages.
        ids: May repeat.
        values: Classes, None where a row has none; empty where only ids were asked for.
    """

    path: Path
    ids: list[str]
    values: list[str | None]


def read_file(path: Path) -> bytes:
    """A file's content.

    Raises:
        InputError: If it can't be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError("there is no such file", file=path) from None
    except OSError as error:
        raise InputError(f"can't be read: {error.strerror}", file=path) from None


def read_columns(content: bytes, path: Path, value: str | None) -> Columns:
    """Ids and classes of a file that is Parquet or CSV (plain or by gzip).

    Classes are compared as text: whole numbers alike whether an integer, a float or text holds
    them, and booleans whatever their case.

    Args:
        value: The column of the classes; a file of two columns may call it anything. None reads
            ids only.

    Raises:
        InputError: If it is neither, or a column is missing.
    """
    names, table = _table(_unzipped(content, path), path, value)
    ids = [found for found in _texts(table.column(ID), path, ID) if found is not None]
    if len(ids) < len(table):
        raise InputError(f"{len(table) - len(ids):,} rows have no {ID}", file=path)
    if value is None:
        return Columns(path, ids, [])
    column = _value_column(names, value, path)
    return Columns(path, ids, _alike(_texts(table.column(column), path, column)))


def _unzipped(content: bytes, path: Path) -> bytes:
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        raise InputError("is not whole: gzip can't read it", file=path) from None


def _table(content: bytes, path: Path, value: str | None) -> tuple[Sequence[str], Any]:
    import pyarrow as pa

    try:
        if content.startswith(b"PAR1"):
            return _parquet(content, path, value)
        return _csv(content, path, value)
    except (pa.ArrowException, OSError, ValueError, csv.Error) as error:
        # Only the first line of Arrow's message, and none of the rows that it may quote.
        told = str(error).split("\n")[0].split(": ")[:2]
        raise InputError(f"can't be read: {': '.join(told)}", file=path) from None


def _parquet(content: bytes, path: Path, value: str | None) -> tuple[Sequence[str], Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(content))
    names = file.schema_arrow.names
    return names, file.read(columns=_wanted(names, value, path))


def _csv(content: bytes, path: Path, value: str | None) -> tuple[Sequence[str], Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    first = content[:65536].decode("utf-8-sig", errors="replace")
    names = next(csv.reader(io.StringIO(first, newline="")), [])
    wanted = _wanted(names, value, path)
    table = arrow_csv.read_csv(
        pa.BufferReader(content),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=wanted, column_types=dict.fromkeys(wanted, pa.string())
        ),
    )
    return names, table


def _wanted(names: Sequence[str], value: str | None, path: Path) -> list[str]:
    if ID not in names:
        raise InputError(
            f"needs a column {ID!r} that names each row: {suggestion(ID, names)}", file=path, line=1
        )
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InputError(f"has two columns {repeated[0]!r}", file=path, line=1)
    return [ID] if value is None else [ID, _value_column(names, value, path)]


def _value_column(names: Sequence[str], value: str, path: Path) -> str:
    others = [name for name in names if name != ID]
    if value in others:
        return value
    if len(others) == 1 and value in _OTHER and others[0] != _OTHER[value]:
        return others[0]
    raise InputError(
        f"needs a column {value!r} beside {ID!r}: {suggestion(value, others)}", file=path, line=1
    )


def _texts(column: Any, path: Path, name: str) -> list[str | None]:
    """A column as text; None for nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        raise InputError(f"column {name!r} holds {column.type}, not text", file=path)
    if pa.types.is_string(column.type):
        return [found or None for found in pc.utf8_trim_whitespace(column).to_pylist()]
    return [_text(found) for found in column.to_pylist()]


def _text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case str():
            return value.strip() or None
        case float():
            if math.isnan(value):
                return None
            return str(int(value)) if value.is_integer() else repr(value)
        case _:
            return str(value)


def _alike(classes: list[str | None]) -> list[str | None]:
    """Classes of one meaning in one way of writing."""
    distinct = {found for found in classes if found is not None}
    words: dict[str, str | None] = {found: found for found in distinct}
    numbers = {found for found in distinct if found.lower() != _NO_NUMBER}
    if numbers and numbers < distinct and all(_NUMBER.fullmatch(found) for found in numbers):
        # What a float that is none is in Parquet, some programs write into CSV as a word.
        return _alike([found if found in numbers else None for found in classes])
    if all(_NUMBER.fullmatch(found) for found in distinct):
        words = {found: _WHOLE.sub(r"\1", found) for found in distinct}
    elif {found.lower() for found in distinct} <= {"true", "false"}:
        words = {found: found.lower() for found in distinct}
    return [None if found is None else words[found] for found in classes]


def write_ids(path: Path, ids: Sequence[str]) -> None:
    """A CSV file of one column of ids.

    Raises:
        InputError: If it can't be written.
    """
    try:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([[ID], *([one] for one in ids)])
    except OSError as error:
        raise InputError(f"can't be written: {error.strerror}", file=path) from None
