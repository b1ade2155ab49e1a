"""Files of ids with a class each, Parquet or CSV: told apart by their content, not their name."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.errors import InputError, suggestion

ID = "id"
_WHOLE = r"^([+-]?\d+)\.0*$"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


@dataclass(frozen=True)
class Columns:
    """A file's rows in its own order.

    Attributes:
        path: For messages.
        ids: Arrow array of text, without nulls; may repeat.
        values: Classes as text, null where there is none; None where only ids were asked for.
    """

    path: Path
    ids: Any
    values: Any


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
    ids = _text(table.column(ID), path, ID)
    if ids.null_count:
        raise InputError(f"{ids.null_count:,} rows have no {ID}", file=path)
    if value is None:
        return Columns(path, ids, None)
    column = _value_column(names, value, path)
    return Columns(path, ids, _classes(_text(table.column(column), path, column)))


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
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
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
    names = next(csv.reader(io.StringIO(first)), [])
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
    if len(others) == 1:
        return others[0]
    raise InputError(
        f"needs a column {value!r} beside {ID!r}: {suggestion(value, others)}", file=path, line=1
    )


def _text(column: Any, path: Path, name: str) -> Any:
    """A column as text, null where it holds nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = column.combine_chunks()
    if isinstance(found, pa.ChunkedArray):
        found = pa.concat_arrays(found.chunks) if found.num_chunks else pa.array([], found.type)
    if pa.types.is_dictionary(found.type):
        found = found.dictionary_decode()
    if pa.types.is_floating(found.type):
        found = pc.if_else(pc.is_nan(found), None, found)
        text = pc.replace_substring_regex(found.cast(pa.string()), _WHOLE, r"\1")
    elif pa.types.is_nested(found.type):
        raise InputError(f"column {name!r} holds {found.type}, not one class a row", file=path)
    else:
        text = pc.utf8_trim_whitespace(found.cast(pa.string()))
    return pc.if_else(pc.equal(text, ""), None, text)


def _classes(text: Any) -> Any:
    import pyarrow.compute as pc

    if pc.all(pc.match_substring_regex(text, _NUMBER)).as_py():
        return pc.replace_substring_regex(text, _WHOLE, r"\1")
    lower = pc.utf8_lower(text)
    # A null says nothing about the others.
    if pc.all(pc.match_substring_regex(lower, "^(true|false)$")).as_py():
        return lower
    return text
