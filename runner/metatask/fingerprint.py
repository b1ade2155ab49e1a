"""What makes two metatasks the same: their content, however it was stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from runner.data.table import coded, numbers
from runner.metatask.metatask import Metatask, Stored

if TYPE_CHECKING:
    from hashlib import _Hash

_FORMAT = "metatask 1"


def fingerprint(metatask: Metatask) -> str:
    """SHA-256 (hex) of all that an ensemble's score can depend on.

    That is the classes, the features with their names and which of them are categorical, the
    labels, the folds, the models' names, and every prediction and confidence. Descriptions,
    findings and how the models were selected are not in it, nor is a number's type: the same
    content read from another format has the same fingerprint.
    """
    digest = hashlib.sha256()
    _texts(digest, [_FORMAT, str(len(metatask.classes)), *metatask.classes])
    _features(digest, metatask)
    _integers(digest, metatask.labels)
    _integers(digest, metatask.folds)
    _texts(digest, [str(len(metatask.models)), *(model.name for model in metatask.models)])
    _stored(digest, metatask.tested)
    for fold in sorted(metatask.validation):
        _texts(digest, [f"fold {fold}"])
        _stored(digest, metatask.validation[fold])
    return digest.hexdigest()


def _features(digest: _Hash, metatask: Metatask) -> None:
    table = metatask.features
    _texts(digest, [str(table.num_columns), str(table.num_rows)])
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count == len(column):
            # Formats differ in the type that they give a column of gaps.
            _texts(digest, [name, "empty"])
            continue
        if name not in metatask.categorical and _numeric(column.type):
            _texts(digest, [name, "numeric"])
            _floats(digest, numbers(column, untyped=False))
            continue
        content = coded(column)
        kind = "categorical" if name in metatask.categorical else "text"
        _texts(digest, [name, kind, str(len(content.levels)), *content.levels])
        _integers(digest, content.codes)


def _stored(digest: _Hash, stored: Stored) -> None:
    _integers(digest, stored.rows)
    # One model after the other: a whole copy of the predictions is never made.
    for predictions, confidences in zip(stored.predictions, stored.confidences, strict=True):
        _integers(digest, predictions)
        _floats(digest, confidences)


def _numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _texts(digest: _Hash, values: Iterable[str]) -> None:
    for value in values:
        data = value.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)


def _integers(digest: _Hash, values: np.ndarray) -> None:
    digest.update(np.ascontiguousarray(values, dtype="<i4").data)


def _floats(digest: _Hash, values: np.ndarray) -> None:
    exact = np.ascontiguousarray(values, dtype="<f8")
    # Every NaN has the same bits here, since a NaN may carry any payload.
    gaps = np.isnan(exact)
    digest.update((np.where(gaps, np.nan, exact) if gaps.any() else exact).data)
