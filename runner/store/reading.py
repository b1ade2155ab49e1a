"""Rows of data files, a few at a time: predictions are as long as their test sets.

DuckDB reads 2,048 rows at once, which of predictions are gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from runner.store.tables import Table

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData

_BATCH_BYTES = 32 << 20

Places = Mapping[str, NDArray[np.int64]]
"""Rows by file: their numbers there, rising."""


def batch_rows(metadata: FileMetaData) -> int:
    """How many rows of a file to read at once."""
    groups = (metadata.row_group(index) for index in range(metadata.num_row_groups))
    size = max(_BATCH_BYTES, sum(int(group.total_byte_size) for group in groups))
    return max(1, _BATCH_BYTES * int(metadata.num_rows) // size)


def read_rows(table: Table, places: Places) -> pa.RecordBatchReader:
    """The rows at these places, with the table's columns, types and order.

    Columns that a file lacks are null; columns of a later version come last.
    """
    schema = _schema(table, list(places))
    return pa.RecordBatchReader.from_batches(schema, _batches(places, schema))


def _schema(table: Table, files: Sequence[str]) -> pa.Schema:
    from pyarrow import parquet

    found = dict(zip(table.schema.names, table.schema, strict=True))
    for file in files:
        for field in parquet.read_schema(file):
            found.setdefault(field.name, field)
    return pa.schema(found.values())


def _batches(places: Places, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    from pyarrow import parquet

    for file, rows in places.items():
        start = 0
        # Without pre_buffer a row group isn't read whole.
        with parquet.ParquetFile(file, pre_buffer=False) as content:
            for batch in content.iter_batches(batch_rows(content.metadata), use_threads=False):
                first, last = np.searchsorted(rows, [start, start + len(batch)])
                if first < last:
                    chosen = pa.array(rows[first:last] - start)
                    yield from _conform(batch.take(chosen), schema).to_batches()
                start += len(batch)


def _conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(len(batch), field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
