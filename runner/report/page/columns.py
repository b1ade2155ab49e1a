"""Arrow tables as compact JSON, column by column, for the page's script to read."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Encoded = Mapping[str, Any]


def encode(table: pa.Table) -> Encoded:
    """A table as ``{"rows": n, "columns": [...]}``.

    A column is ``{"name", "type"}`` (``text``, ``number``, ``count`` or ``flag``) and one of ``c``,
    the value of all rows; ``f``, floats exactly as stored (64 bits, little-endian, base64), NaN for
    null; ``d`` and ``v``, the distinct texts and each row's place among them, -1 for null; ``v``
    alone, a value a row.
    """
    columns = [_column(name, table[name]) for name in table.column_names]
    return {"rows": len(table), "columns": columns}


def _column(name: str, values: pa.ChunkedArray) -> Encoded:
    kind = _kind(values.type)
    if kind == "text" and not pa.types.is_string(values.type):
        values = values.cast(pa.string())
    column = {"name": name, "type": kind}
    if len(values) and pc.count_distinct(values, mode="all").as_py() == 1:
        value = values[0].as_py()
        # JSON has no name for what isn't a number.
        return column | {"c": None if value != value else value}
    if kind == "number":
        floats = values.cast(pa.float64()).to_numpy().astype("<f8")
        return column | {"f": base64.b64encode(floats.tobytes()).decode()}
    if kind == "text":
        encoded = values.combine_chunks().dictionary_encode()
        places = encoded.indices.fill_null(-1).to_pylist()
        return column | {"d": encoded.dictionary.to_pylist(), "v": places}
    return column | {"v": values.to_pylist()}


def _kind(type_: pa.DataType) -> str:
    if pa.types.is_floating(type_):
        return "number"
    if pa.types.is_boolean(type_):
        return "flag"
    return "count" if pa.types.is_integer(type_) else "text"
