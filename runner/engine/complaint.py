"""What is wrong with a record: its sender may be any study's function, or somebody else's code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from runner.sandbox import Finding
from runner.store.schema import ATTEMPTS

REPORTED = frozenset(
    ["score", "fit_seconds", "predict_seconds", "prepare_seconds", "timed_fits", "fit_seconds_min"]
)
"""The columns of ``attempts`` that an evaluation's own function reports."""

_KINDS = {
    "row_ids": ("iu", "whole numbers"),
    "classes": ("U", "text"),
    "confidences": ("f", "floats"),
    "labels": ("U", "text"),
    "scores": ("f", "floats"),
}
_OPTIONAL = frozenset(["scores"])


def complaint(finding: Finding) -> str | None:
    """Why the record of an evaluation that ended well can't become a row; None where it can."""
    found = _about_fields(finding.fields)
    if found is None and finding.predictions is not None:
        found = _about_predictions(finding.predictions)
    if found is None and finding.fields["score"] is None and finding.predictions is None:
        found = "the record has neither score nor predictions"
    return found


def _about_fields(fields: Mapping[str, Any]) -> str | None:
    for name, value in fields.items():
        if name not in REPORTED:
            return f"{name!r} is no column that an evaluation can report: {sorted(REPORTED)} are"
        kind = ATTEMPTS.field(name).type
        try:
            if pa.types.is_integer(kind) and isinstance(value, float):
                raise pa.ArrowTypeError
            pa.scalar(value, kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            return f"{name} is {value!r}, not a {kind}"
        if value is not None and not math.isfinite(value):
            return f"{name} is {value!r}, not a finite number"
    return None if "score" in fields else "the record has no score"


def _about_predictions(predictions: Mapping[str, np.ndarray]) -> str | None:
    names = set(_KINDS) - _OPTIONAL
    if set(predictions) - _OPTIONAL != names:
        return f"the predictions are {sorted(predictions)}; they should be {sorted(names)}"
    for name, array in predictions.items():
        kinds, words = _KINDS[name]
        if array.dtype.kind not in kinds:
            return f"{name} of the predictions are of type {array.dtype}; they should be {words}"
        if array.dtype.kind == "U" and not _is_text(array):
            return f"{name} of the predictions hold what is no Unicode text"
    rows, classes = predictions["row_ids"], predictions["classes"]
    for name in ("row_ids", "classes", "labels"):
        if predictions[name].ndim != 1:
            return f"{name} of the predictions have shape {predictions[name].shape}; one row is due"
    if not _fit_int32(rows):
        return "row_ids of the predictions are beyond 32 bits"
    if predictions.get("scores", rows).shape != rows.shape:
        return f"the predictions have scores of shape {predictions['scores'].shape}"
    if predictions["labels"].shape != rows.shape:
        return f"the predictions have {len(predictions['labels'])} labels for {len(rows)} row_ids"
    confidences = predictions["confidences"]
    if confidences.shape not in ((len(rows), len(classes)), (len(rows) * len(classes),)):
        return (
            f"confidences of the predictions have shape {confidences.shape}; they should be "
            f"{len(rows)} rows by {len(classes)} classes"
        )
    return None


def _is_text(array: np.ndarray) -> bool:
    try:
        "".join(array.ravel().tolist()).encode()
    except UnicodeEncodeError:
        return False
    return True


def _fit_int32(array: np.ndarray) -> bool:
    bounds = np.iinfo(np.int32)
    return not array.size or bool(array.min() >= bounds.min and array.max() <= bounds.max)
