"""Takes rows out of the store: a view into one file, predictions by their keys."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from runner.errors import InputError
from runner.replacing import replacing
from runner.store.damage import refusing_damage
from runner.store.reading import read_rows
from runner.store.scan import identifier, places, quoted, work_connection
from runner.store.tables import Table
from runner.store.views import create_views, predictions_places

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_OPTIONS = {
    "parquet": "format parquet, compression zstd, row_group_size_bytes '32MB'",
    "csv": "format csv, header",
}


def export_view(table: Table, view: str, path: Path, style: str) -> int:
    """As ``Store.export`` has it.

    Args:
        table: Which holds the view's rows.
    """
    folder = path.resolve().parent
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", file=path)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"the folder {folder} is read-only", file=path)
    with (
        replacing(path) as part,
        refusing_damage(table),
        work_connection() as connection,
    ):
        create_views(connection, {table.name: table})
        if view == "predictions":
            return _write_predictions(connection, table, part, style)
        return _copy(connection, view, part, style)


def read_predictions(table: Table, keys: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """As ``Store.predictions`` has it.

    Args:
        table: Which holds the predictions.
    """
    with refusing_damage(table), work_connection() as connection:
        create_views(connection, {table.name: table})
        connection.register("asked", pa.table({"key": pa.array(keys, pa.string())}))
        found = places(connection, predictions_places("key in (select key from asked)"))
        yield from read_rows(table, found)


def _copy(connection: DuckDBPyConnection, view: str, path: Path, style: str) -> int:
    columns = connection.execute(f"describe {view}").fetchall()
    chosen = ", ".join(_column(name, kind, style) for name, kind, *_ in columns)
    ((rows,),) = connection.execute(
        f"copy (select {chosen} from {view}) to {quoted(str(path))} ({_OPTIONS[style]})"
    ).fetchall()
    return int(rows)


def _column(name: str, kind: str, style: str) -> str:
    if style == "csv" and kind.endswith("[]"):
        return f"cast(to_json({identifier(name)}) as varchar) as {identifier(name)}"
    return identifier(name)


def _write_predictions(connection: DuckDBPyConnection, table: Table, path: Path, style: str) -> int:
    """Writes predictions, whose rows are too long for DuckDB to read many."""
    from pyarrow import csv, parquet

    rows = read_rows(table, places(connection, predictions_places()))
    plain = _with_texts if style == "csv" else pa.Table.from_batches
    schema = plain([], rows.schema).schema
    writer = (
        csv.CSVWriter(path, schema)
        if style == "csv"
        else parquet.ParquetWriter(path, schema, compression="zstd")
    )
    count = 0
    with writer:
        for batch in rows:
            writer.write_table(plain([batch], rows.schema))
            count += len(batch)
    return count


def _with_texts(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The rows with JSON instead of lists."""
    rows = pa.Table.from_batches(batches, schema).combine_chunks()
    for index, field in enumerate(schema):
        if pa.types.is_list(field.type):
            texts = [_json(chunk) for chunk in rows.column(index).chunks]
            rows = rows.set_column(index, field.name, pa.chunked_array(texts, pa.string()))
    return rows


def _json(lists: pa.ListArray) -> pa.StringArray:
    import pyarrow.compute as pc

    values = lists.values
    if pa.types.is_string(values.type):
        # Few different ones: classes.
        encoded = values.dictionary_encode()
        texts = pa.array(
            [json.dumps(value, ensure_ascii=False) for value in encoded.dictionary.to_pylist()],
            pa.string(),
        ).take(encoded.indices)
    else:
        texts = values.cast(pa.string())
    joined = pc.binary_join(
        pa.ListArray.from_arrays(lists.offsets, texts, mask=lists.is_null()), ","
    )
    return pc.binary_join_element_wise("[", joined, "]", "")
