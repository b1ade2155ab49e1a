"""Tables from files: parquet, csv, csv.gz, arff."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from runner.data.arff import read_arff
from runner.data.table import Table, checked, unique_names
from runner.data.task import TaskError
from runner.errors import suggestion

EXTENSIONS = (".parquet", ".csv", ".csv.gz", ".arff", ".pq")

_LONGEST_ROW = 2**24
"""Bytes: Arrow's parser wants a row of CSV whole within one block."""


def read(path: Path, key: str) -> Table:
    """A table from a file.

    Args:
        path: The file; its extension says what it holds. A CSV file is UTF-8, separated by
            commas, and its first row names the columns. ``.pq`` is parquet too.
        key: The study's key that named the file.

    Raises:
        TaskError: For a file that is missing, of another kind, damaged, or without rows, or
            whose column names don't differ.
    """
    extension = extension_of(path)
    try:
        if path.is_dir():
            raise TaskError(f"{path} is a folder, not a file", key=key)
        if not path.exists():
            raise TaskError(f"{path} doesn't exist{_neighbour(path)}", key=key)
        if not path.is_file():
            raise TaskError(f"{path} is a pipe or a device, not a file", key=key)
        if extension is None:
            raise TaskError(f"{path}: tasks are read from {', '.join(EXTENSIONS)} files", key=key)
        return checked(_READERS.get(extension, _read_csv)(path, key))
    except (pa.ArrowException, OSError, EOFError, ValueError, csv.Error, zlib.error) as error:
        kind = "a table" if extension is None else extension.lstrip(".")
        raise TaskError(f"{path} can't be read as {kind}: {_reason(error)}", key=key) from error


def extension_of(path: Path) -> str | None:
    """The file's extension of those that can be read, None for another."""
    name = path.name.lower()
    return next((extension for extension in EXTENSIONS if name.endswith(extension)), None)


def _read_parquet(path: Path, key: str) -> Table:
    with pa.parquet.ParquetFile(path) as file:
        names = [field.name for field in file.schema_arrow]
        unique_names(names, str(path), key)
        index = _pandas_index(file.schema_arrow)
        table = file.read(columns=[name for name in names if name not in index])
        declared = _declared_categories(file.metadata.metadata or {})
    columns = {
        name: column.dictionary_encode() if name in declared else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return Table(str(path), key, columns)


def _declared_categories(metadata: Mapping[bytes, bytes]) -> set[str]:
    """The columns that were dictionaries (pandas' categorical) when the file was written.

    Arrow itself restores only those of text: categories that look like numbers come back as
    numbers.
    """
    if b"ARROW:schema" not in metadata:
        return set()
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(metadata[b"ARROW:schema"])))
    return {field.name for field in schema if pa.types.is_dictionary(field.type)}


def _pandas_index(schema: pa.Schema) -> set[str]:
    """The columns in which pandas keeps a frame's index: row labels, no features."""
    columns = (schema.pandas_metadata or {}).get("index_columns", [])
    return {column for column in columns if isinstance(column, str)}


def _read_csv(path: Path, key: str) -> Table:
    names, blank = _header(path)
    unique_names(names, str(path), key)
    # Everything is read as text: what a column is shows only once all of it (and of the test
    # file) has been seen, and a class may be called NA.
    with _opened(path) as file:
        table = pa.csv.read_csv(
            file,
            read_options=pa.csv.ReadOptions(
                column_names=names,
                skip_rows=blank,
                skip_rows_after_names=1,
                block_size=_LONGEST_ROW,
                # Only a single thread knows the number of a row that is wrong.
                use_threads=False,
            ),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    columns = dict(zip(table.column_names, table.columns, strict=True))
    return Table(str(path), key, columns, untyped=True)


def _header(path: Path) -> tuple[list[str], int]:
    """The first row that isn't blank, and how many blank ones stand before it."""
    with _opened(path) as file:
        rows = csv.reader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""))
        return next(((row, blank) for blank, row in enumerate(rows) if row), ([], 0))


def _opened(path: Path) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb")


_READERS: Mapping[str, Callable[[Path, str], Table]] = {
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
    ".arff": read_arff,
}


def _neighbour(path: Path) -> str:
    if not path.parent.is_dir():
        return f": there is no folder {path.parent}"
    names = sorted(p.name for p in path.parent.iterdir() if extension_of(p))
    return f": {suggestion(path.name, names)}" if names else ""


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:200] or type(error).__name__
