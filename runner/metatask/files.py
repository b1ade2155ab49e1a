"""The own format of metatasks: one Arrow IPC file that is mapped into memory, never copied.

The file holds one record batch of one row. Each of its columns is an array of the metatask as a
list, flattened, so that arrays of different lengths share a file; `features` is a list of
structures, the rows of the task's table. What describes the metatask is JSON in the schema's
metadata (see `header`). docs/metatasks.md defines the columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from runner.errors import InputError
from runner.metatask import header
from runner.metatask.fingerprint import fingerprint
from runner.metatask.metatask import Metatask, Stored
from runner.replacing import replacing

_HEADER = b"runner.metatask"
_MAGIC = b"ARROW1"
_NO_COLUMNS = "no columns"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def file_name(name: str) -> str:
    """What the file of a metatask is called: ``metatask_31.arrow``."""
    return f"metatask_{_UNSAFE.sub('_', name)}.arrow"


def write(metatask: Metatask, path: Path) -> str:
    """Write a metatask; a file that is there is replaced as a whole or not at all.

    Returns:
        The content's fingerprint, which stands in the file.
    """
    digest = fingerprint(metatask)
    columns = {
        "labels": _listed(metatask.labels),
        "folds": _listed(metatask.folds),
        "features": _features(metatask.features),
        **_stored_columns("tested", metatask.tested),
    }
    for fold in sorted(metatask.validation):
        columns |= _stored_columns(f"validation.{fold}", metatask.validation[fold])
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    batch = batch.replace_schema_metadata({_HEADER: header.encode(metatask, digest)})
    with replacing(path) as temporary, pa.ipc.new_file(temporary, batch.schema) as writer:
        writer.write_batch(batch)
    return digest


def read(path: Path) -> Metatask:
    """A metatask whose arrays are read-only views on the file; it takes no memory of its own.

    The content isn't compared with its fingerprint: ``verify`` does.

    Raises:
        InputError: The file is missing, damaged, none of this format, or of a newer version.
    """
    document, batch = _open(path)
    try:
        return _metatask(document, batch)
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise InputError(f"is damaged ({_first(error)}): build it again", file=path) from error


def stored_fingerprint(path: Path) -> str:
    """The fingerprint that the content had when it was written."""
    return str(_open(path)[0].get("fingerprint", ""))


def stored_name(path: Path) -> str:
    """The metatask's name, from the file's header alone."""
    return str(_open(path)[0].get("name", ""))


def verify(path: Path) -> Metatask:
    """The metatask, after its content was compared with its fingerprint.

    Raises:
        InputError: As of ``read``, and where a prediction is no class or anything has changed
            since it was written.
    """
    metatask = read(path)
    for stored in (metatask.tested, *metatask.validation.values()):
        if stored.predictions.size and (
            stored.predictions.min() < 0 or stored.predictions.max() >= len(metatask.classes)
        ):
            raise InputError("is damaged: a prediction is no class; build it again", file=path)
    if fingerprint(metatask) != stored_fingerprint(path):
        raise InputError("was changed since it was written: build it again", file=path)
    return metatask


def is_own(path: Path) -> bool:
    """Whether a file begins as Arrow's files do."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _open(path: Path) -> tuple[dict[str, Any], pa.RecordBatch]:
    try:
        if not path.is_file():
            raise InputError("there is no such file", file=path)
        if not is_own(path):
            raise InputError("is no metatask: it isn't an Arrow file", file=path)
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        metadata = reader.schema.metadata or {}
        document = header.decode(metadata.get(_HEADER, b"{}"), path)
        return document, reader.get_batch(0)
    except (pa.ArrowException, IndexError, OSError) as error:
        text = f"is damaged or cut short ({_first(error)}): build it again"
        raise InputError(text, file=path) from error


def _metatask(document: Mapping[str, Any], batch: pa.RecordBatch) -> Metatask:
    classes = tuple(document["classes"])
    models = header.models(dict(document))
    shape = (len(models), len(classes))
    labels, folds = _array(batch, "labels"), _array(batch, "folds")
    features = _table(batch)
    if not len(labels) == len(folds) == features.num_rows:
        raise ValueError("labels, folds and features differ in length")
    return Metatask(
        name=document["name"],
        dataset=document["dataset"],
        target=document["target"],
        classes=classes,
        features=features,
        categorical=tuple(document["categorical"]),
        labels=labels,
        folds=folds,
        models=models,
        tested=_stored(batch, "tested", *shape),
        validation={
            fold: _stored(batch, f"validation.{fold}", *shape)
            for fold in document["validation_folds"]
        },
        metric=document["metric"],
        constraints=document["constraints"],
    )


def _stored_columns(name: str, stored: Stored) -> dict[str, pa.Array]:
    return {
        f"{name}.rows": _listed(stored.rows),
        f"{name}.predictions": _listed(stored.predictions),
        f"{name}.confidences": _listed(stored.confidences),
    }


def _stored(batch: pa.RecordBatch, name: str, models: int, classes: int) -> Stored:
    rows = _array(batch, f"{name}.rows")
    return Stored(
        rows=rows,
        predictions=_array(batch, f"{name}.predictions").reshape(models, len(rows)),
        confidences=_array(batch, f"{name}.confidences").reshape(models, len(rows), classes),
    )


def _listed(values: np.ndarray | pa.Array) -> pa.Array:
    flat = values if isinstance(values, pa.Array) else pa.array(np.ravel(values))
    return pa.LargeListArray.from_arrays(pa.array([0, len(flat)], pa.int64()), flat)


def _array(batch: pa.RecordBatch, name: str) -> np.ndarray:
    values: np.ndarray = _values(batch, name).to_numpy(zero_copy_only=True)
    return values


def _values(batch: pa.RecordBatch, name: str) -> pa.Array:
    column = batch.column(name)
    if len(column) != 1 or not pa.types.is_large_list(column.type):
        raise ValueError(f"column {name} is no list of one row")
    return column.values


def _features(table: pa.Table) -> pa.Array:
    """The table as a list of structures; rows without a column need one to be counted by."""
    if not table.num_columns:
        table = pa.table({_NO_COLUMNS: pa.nulls(table.num_rows)})
    chunks = table.to_struct_array()
    return _listed(chunks.combine_chunks() if isinstance(chunks, pa.ChunkedArray) else chunks)


def _table(batch: pa.RecordBatch) -> pa.Table:
    values = _values(batch, "features")
    table = pa.Table.from_arrays(values.flatten(), names=[field.name for field in values.type])
    return table.select([]) if table.column_names == [_NO_COLUMNS] else table


def _first(error: Exception) -> str:
    return str(error).split("\n", 1)[0] or type(error).__name__
