"""Data files as DuckDB reads them: one view over the files of a table, whatever their age."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PLACE = ("filename", "file_row_number")
"""The columns of a view that say where a row stands."""

_MEMORY = "800MB"


@contextlib.contextmanager
def work_connection() -> Iterator[DuckDBPyConnection]:
    """A connection for work on whole tables; what its memory doesn't hold it keeps on disk."""
    import duckdb

    with (
        tempfile.TemporaryDirectory(prefix="runner-") as spill,
        contextlib.closing(duckdb.connect(":memory:")) as connection,
    ):
        connection.execute("set TimeZone = 'UTC'")
        connection.execute(f"set memory_limit = '{_MEMORY}'")
        connection.execute(f"set temp_directory = {quoted(spill)}")
        connection.execute("set preserve_insertion_order = false")
        yield connection


def create_scan(
    connection: DuckDBPyConnection, view: str, schema: pa.Schema, files: Sequence[str]
) -> None:
    """Makes ``view``: the rows of the files, with the schema's columns and those of ``PLACE``.

    Columns that the files lack are null; those that they have besides come last.
    """
    # `union all by name` with no rows of the schema gives a table without files its columns, and
    # one of an older version the columns that it lacks, with their types.
    connection.register("_schema", schema.empty_table())
    connection.execute(f"create table {view}_schema as select * from _schema")
    connection.unregister("_schema")
    place = "null::varchar as filename, null::bigint as file_row_number"
    source = f"select *, {place} from {view}_schema"
    if files:
        source += (
            f" union all by name select * from read_parquet([{quoted_list(files)}],"
            " union_by_name = true, filename = true, file_row_number = true)"
        )
    connection.execute(f"create view {view} as {source}")


def columns_of(connection: DuckDBPyConnection, view: str) -> list[str]:
    """The names of a view's columns, without those of ``PLACE``."""
    rows = connection.execute(f"describe {view}").fetchall()
    return [row[0] for row in rows if row[0] not in PLACE]


def places(connection: DuckDBPyConnection, rows: str) -> dict[str, NDArray[np.int64]]:
    """Where rows stand, by file, in rising order: of SQL whose columns are those of ``PLACE``."""
    found = connection.execute(
        f"select filename, list(file_row_number order by file_row_number) from ({rows}) "
        "group by 1 order by 1"
    ).fetchall()
    return {file: np.array(numbers, dtype=np.int64) for file, numbers in found}


def identity(columns: Sequence[str]) -> str:
    """SQL for a number that rows have in common where they agree in all of these columns."""
    return f"hash({', '.join(identifier(name) for name in sorted(columns))})"


def same_row(table: str, columns: Sequence[str]) -> str:
    """SQL for what rows that are one and the same have in common, for a ``group by``.

    A merge of stores numbers attempts anew. Predictions of one key are equal, but for what has no
    seed.
    """
    match table:
        case "attempts":
            return f"key, run_id, {identity([name for name in columns if name != 'attempt'])}"
        case "predictions":
            return "key"
        case _:
            return f"run_id, {identity(columns)}"


def identifier(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def quoted(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def quoted_list(texts: Sequence[str]) -> str:
    """Texts in SQL, separated by commas."""
    return ", ".join(map(quoted, texts))
