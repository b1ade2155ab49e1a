"""The JSON file of Assembled-OpenML's metatasks: what it says, and what of it can be read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from runner.errors import InputError
from runner.metatask.coverage import check_folds

_SHOWN = 40
DETAILS = "predictor_corruptions_details"

_NEEDED = (
    "openml_task_id",
    "dataset_name",
    "target_name",
    "class_labels",
    "predictors",
    "predictor_descriptions",
    "bad_predictors",
    "feature_names",
    "cat_feature_names",
    "folds",
    "selection_constraints",
    "task_type",
)
_LISTS = ("class_labels", "predictors", "feature_names", "cat_feature_names", "bad_predictors")
_SCALARS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "openml_task_id": ((int, str), "a number or a text"),
    "dataset_name": ((str,), "a text"),
    "target_name": ((str,), "a text"),
    "task_type": ((str,), "a text"),
    "confidence_prefix": ((str,), "a text"),
    "fold_postfix": ((str,), "a text"),
    "file_format": ((str,), "a text"),
    "use_validation_data": ((bool,), "true or false"),
    "fold_predictors": ((list,), "a list"),
}
_OBJECTS = ("predictor_descriptions", "selection_constraints", DETAILS, "validation_indices")
USED = (
    *_NEEDED,
    "confidences",
    "confidence_prefix",
    "use_validation_data",
    "validation_indices",
)
"""What the JSON files say that a metatask has a place for."""


@dataclass(frozen=True)
class Names:
    """How the columns of predictions are called."""

    prefix: str = "confidence"
    postfix: str = "fold"

    def confidence(self, model: str, label: str) -> str:
        """The column of a model's confidences for a class."""
        return f"{self.prefix}.{label}.{model}"

    def validation(self, model: str, fold: int) -> str:
        """The column of a model's validation predictions, which is a model's name too."""
        return f"{model}.{self.postfix}{fold}"


def names_of(document: Mapping[str, Any]) -> Names:
    """How a metatask's columns are called; the versions put their dots in different places."""
    return Names(
        str(document.get("confidence_prefix", "confidence")).rstrip("."),
        str(document.get("fold_postfix", "fold")).lstrip("."),
    )


def read_document(path: Path) -> dict[str, Any]:
    """The JSON file of a metatask that can be read.

    Raises:
        InputError: It is missing or damaged, or says that the metatask is of a kind that can't.
    """
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError("there is no such file beside the metatask's CSV", file=path) from None
    except ValueError as error:
        raise InputError(f"is no JSON: {error}", file=path) from error
    except RecursionError:
        raise InputError(
            "is no JSON that can be read: it is nested too deeply", file=path
        ) from None
    if not isinstance(document, dict):
        raise InputError("is no metatask's JSON: it should be an object", file=path)
    for key in (key for key in _NEEDED if key not in document):
        raise InputError(f"is no metatask's JSON: it lacks {key!r}", file=path)
    _check_types(document, path)
    if document["task_type"] != "classification":
        kind = document["task_type"]
        raise InputError(f"is a metatask of {kind}: only classification is supported", file=path)
    if document.get("fold_predictors"):
        raise InputError(
            f"{document['fold_predictors'][0]!r} is a model of a single fold (fold_predictors): "
            "only models that were tested on every fold are supported",
            file=path,
        )
    if document.get("file_format", "csv") != "csv":
        kind = document["file_format"]
        raise InputError(f"its table is stored as {kind}: only csv is supported", file=path)
    if not document["predictors"]:
        raise InputError("is a metatask without a model", file=path)
    return document


def _check_types(document: Mapping[str, Any], path: Path) -> None:
    for key, (kinds, right) in _SCALARS.items():
        if key in document and type(document[key]) not in kinds:
            raise InputError(f"{key!r} should be {right}, not {_shown(document[key])}", file=path)
    for key in _LISTS:
        if not isinstance(document[key], list):
            raise InputError(f"{key!r} should be a list", file=path)
        # Classes may be numbers; everything else is the name of a column.
        kinds = (str, int, float, bool) if key == "class_labels" else (str,)
        for value in document[key]:
            if type(value) not in kinds:
                raise InputError(f"{key!r} should be a list of texts: {_shown(value)}", file=path)
        texts = [str(value) for value in document[key]]
        if len(set(texts)) < len(texts):
            twice = next(text for text in texts if texts.count(text) > 1)
            raise InputError(f"{key!r} has {twice!r} twice", file=path)
    for key in _OBJECTS:
        if not isinstance(document.get(key, {}), dict):
            raise InputError(f"{key!r} should be an object", file=path)
    for model, details in document.get(DETAILS, {}).items():
        if not isinstance(details, dict):
            raise InputError(f"{DETAILS!r} of {model!r} should be an object", file=path)
    _listed_rows(document, path)
    if len(document["class_labels"]) < 2:
        raise InputError("'class_labels' should be two classes or more", file=path)


def _shown(value: Any) -> str:
    """A value as the file has it, the beginning of it where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."


def read_folds(document: Mapping[str, Any], path: Path) -> np.ndarray:
    """The fold of each row (rows,) int16.

    Raises:
        InputError: They aren't whole numbers, or a fold is missing.
    """
    try:
        given = np.array(document["folds"], dtype=np.float64)
        if given.ndim != 1 or not np.all(np.abs(given) <= np.iinfo(np.int16).max):
            raise ValueError
        folds = given.astype(np.int16)
        if np.any(folds != given):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InputError("'folds' should be a list of whole numbers", file=path) from None
    try:
        check_folds(folds)
    except InputError as error:
        raise InputError(error.message, file=path) from None
    return folds


def validation_rows(
    document: Mapping[str, Any], names: Names, folds: np.ndarray, table: pa.Table, path: Path
) -> dict[int, np.ndarray]:
    """By fold, the rows that have validation predictions, ascending; empty where there are none.

    Raises:
        InputError: A row isn't one of the fold's training part.
    """
    if not document.get("use_validation_data"):
        return {}
    listed = _listed_rows(document, path)
    first = document["predictors"][0]
    found = {}
    for fold in range(int(folds.max()) + 1):
        given: Any = listed.get(fold)
        if given is None:
            given = np.flatnonzero(table.column(names.validation(first, fold)).is_valid())
        rows = np.sort(np.asarray(given, dtype=np.int64))
        _check_rows(rows, fold, folds, path)
        found[fold] = rows
    return found


def _listed_rows(document: Mapping[str, Any], path: Path) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for fold, rows in document.get("validation_indices", {}).items():
        if not fold.isdecimal():
            raise InputError(f"'validation_indices' has {fold!r}, which is no fold", file=path)
        if not isinstance(rows, list) or any(not _is_row(row) for row in rows):
            text = f"'validation_indices' of fold {fold} should be a list of rows' numbers"
            raise InputError(text, file=path)
        found[int(fold)] = rows
    return found


def _is_row(value: Any) -> bool:
    return type(value) is int and abs(value) <= np.iinfo(np.int32).max


def _check_rows(rows: np.ndarray, fold: int, folds: np.ndarray, path: Path) -> None:
    place = f"'validation_indices' of fold {fold}"
    if not len(rows):
        raise InputError(f"{place}: no row has validation predictions", file=path)
    if rows[0] < 0 or rows[-1] >= len(folds) or np.any(np.diff(rows) == 0):
        raise InputError(f"{place} should be different rows of {len(folds)}", file=path)
    tested = rows[folds[rows] == fold]
    if len(tested):
        raise InputError(f"{place} has row {tested[0]}, which the fold tests", file=path)
