"""Writes metatasks as Assembled-OpenML's CSV and JSON files, of either version."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv

from runner.errors import InputError
from runner.metatask import original
from runner.metatask.metatask import Metatask, Model, Stored
from runner.metatask.original import ORIGINAL
from runner.metatask.original_document import DETAILS, Names, names_of
from runner.replacing import replacing

Version = Literal["main", "paper"]
"""The paper's format, or that of the later package (its branch main)."""

_NUMBER = re.compile(r"-?\d+")


def file_name(name: str) -> str:
    """What the JSON file of a metatask is called; the CSV file lies beside it.

    Raises:
        InputError: No file can be called so. The original's program finds a metatask by its name.
    """
    if "/" in name:
        raise InputError(f"metatask {name}: the original's format needs a name without '/'")
    return f"metatask_{name}.json"


def write(metatask: Metatask, path: Path, version: Version = "main") -> None:
    """Write a metatask's JSON file, and its CSV file beside it.

    Files that are there are replaced, each as a whole.

    Args:
        metatask: What to write.
        path: Of the JSON file.
        version: Whose format.

    Raises:
        InputError: The format has no place for something: a row that no fold tests, validation
            predictions in the paper's version, a model that is called like a column.
    """
    _check(metatask, version)
    extra = metatask.constraints.get(ORIGINAL, {})
    names = names_of(extra)
    table = _table(metatask, names)
    document = _document(metatask, names, extra, version)
    with replacing(original.pair(path)[0]) as temporary:
        pa.csv.write_csv(table, temporary)
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(document, ensure_ascii=False, indent=4), "utf-8")


def _check(metatask: Metatask, version: Version) -> None:
    name = f"metatask {metatask.name}"
    untested = int(np.count_nonzero(metatask.folds < 0))
    if untested or len(metatask.tested.rows) != len(metatask.folds):
        count = untested or len(metatask.folds) - len(metatask.tested.rows)
        raise InputError(
            f"{name}: {count} rows have no test predictions, for which the original's format has "
            "no place; convert to arrow"
        )
    if metatask.validation and version == "paper":
        raise InputError(
            f"{name} has validation predictions, for which the paper's format has no place: "
            "convert to original"
        )
    if metatask.validation and set(metatask.validation) != set(metatask.fold_numbers):
        raise InputError(
            f"{name} has validation predictions for some folds only, for which the original's "
            "format has no place; convert to arrow"
        )


def _table(metatask: Metatask, names: Names) -> pa.Table:
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}

    def add(name: str, values: pa.Array | pa.ChunkedArray) -> None:
        if name in columns:
            raise InputError(f"metatask {metatask.name}: two columns would be called {name!r}")
        columns[name] = values

    def add_confidences(stored: Stored, index: int, model: str, label: str) -> None:
        position = metatask.classes.index(label)
        values = stored.confidences[index, :, position]
        add(names.confidence(model, label), _spread(values, stored.rows, rows))

    rows = len(metatask.labels)
    for name, column in zip(metatask.features.column_names, metatask.features.columns, strict=True):
        add(name, _as_written(column))
    add(metatask.target, _texts(metatask.labels, metatask.classes))
    for index, model in enumerate(metatask.models):
        add(model.name, _texts(metatask.tested.predictions[index], metatask.classes))
        for label in metatask.classes:
            add_confidences(metatask.tested, index, model.name, label)
    parts = [
        (index, names.validation(model.name, fold), metatask.validation[fold])
        for index, model in enumerate(metatask.models)
        for fold in sorted(metatask.validation)
    ]
    for index, column, stored in parts:
        add(column, _spread_texts(stored, index, rows, metatask.classes))
    for label in metatask.classes:
        for index, column, stored in parts:
            add_confidences(stored, index, column, label)
    return pa.table(columns)


def _as_written(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A feature as the original's own writer spells it: booleans as True and False."""
    if pa.types.is_boolean(column.type):
        texts = {True: "True", False: "False", None: None}
        return pa.chunked_array([pa.array([texts[value] for value in column.to_pylist()])])
    if pa.types.is_float32(column.type):
        return column.cast(pa.float64())
    return column


def _texts(codes: np.ndarray, classes: tuple[str, ...]) -> pa.Array:
    indices = pa.array(codes.astype(np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array(classes, pa.string()))


def _spread_texts(stored: Stored, index: int, rows: int, classes: tuple[str, ...]) -> pa.Array:
    codes = np.zeros(rows, dtype=np.int32)
    codes[stored.rows] = stored.predictions[index]
    indices = pa.array(codes, mask=_absent(stored.rows, rows))
    return pa.DictionaryArray.from_arrays(indices, pa.array(classes, pa.string()))


def _spread(values: np.ndarray, positions: np.ndarray, rows: int) -> pa.Array:
    """Confidences as a column of all rows; as float64, whose text keeps every bit of float32."""
    if len(positions) == rows:
        return pa.array(values.astype(np.float64))
    full = np.zeros(rows)
    full[positions] = values
    return pa.array(full, mask=_absent(positions, rows))


def _absent(positions: np.ndarray, rows: int) -> np.ndarray:
    absent = np.ones(rows, dtype=bool)
    absent[positions] = False
    return absent


def _document(
    metatask: Metatask, names: Names, extra: Mapping[str, Any], version: Version
) -> dict[str, Any]:
    models = metatask.models
    document = {
        "openml_task_id": int(metatask.name) if _NUMBER.fullmatch(metatask.name) else metatask.name,
        "dataset_name": metatask.dataset,
        "target_name": metatask.target,
        "class_labels": list(metatask.classes),
        "predictors": [model.name for model in models],
        "confidences": [names.confidence(m.name, c) for m in models for c in metatask.classes],
        "predictor_descriptions": {model.name: model.description for model in models},
        "bad_predictors": [model.name for model in models if model.corrupted],
        # The paper's program puts the dot of a column's name into the prefix.
        "confidence_prefix": names.prefix + ("." if version == "paper" else ""),
        "feature_names": metatask.features.column_names,
        "cat_feature_names": list(metatask.categorical),
        "selection_constraints": {
            key: value for key, value in metatask.constraints.items() if key != ORIGINAL
        },
        "task_type": "classification",
        DETAILS: _details(models, extra.get(DETAILS, {})),
        "folds": metatask.folds.tolist(),
    }
    return document if version == "paper" else {**document, **_later(metatask, extra)}


def _later(metatask: Metatask, extra: Mapping[str, Any]) -> dict[str, Any]:
    """What only the later package's files say."""
    later: dict[str, Any] = {
        "use_validation_data": bool(metatask.validation),
        "random_int_seed_outer_folds": None,
        "random_int_seed_inner_folds": None,
    }
    if metatask.validation:
        later |= {
            "fold_predictors": [],
            "fold_postfix": "fold",
            "fold_predictor_prefix": "FP",
            "validation_indices": {
                str(fold): metatask.validation[fold].rows.tolist()
                for fold in sorted(metatask.validation)
            },
        }
    return {**later, **{key: value for key, value in extra.items() if key != DETAILS}}


def _details(models: tuple[Model, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """What is wrong with which model, in the original's words as far as it has any."""
    details = {}
    for model in models:
        kinds = {finding.kind for finding in model.findings}
        if model.name in given:
            details[model.name] = given[model.name]
        elif kinds:
            details[model.name] = {
                "file_ground_truth_corrupted": bool(kinds & {"truth", "swapped"}),
                "confidences_corrupted": "confidences" in kinds,
                "confidences_fixed": "confidences" in kinds and not model.corrupted,
                "findings": [finding.text for finding in model.findings],
            }
    return details
