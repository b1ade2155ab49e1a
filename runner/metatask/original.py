"""Reads the metatasks of Assembled-OpenML: a CSV file of all columns, a JSON file about them.

Both versions of its format: that of the paper and that of the later package, whose metatasks may
hold validation predictions. Labels, predictions and categories keep their text (one class of a
public set is called "None"), and every number is read to the last bit.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from runner.errors import InputError, suggestion
from runner.metatask.integrity import UnknownClassError, encode_labels, examine
from runner.metatask.metatask import Finding, Metatask, Model, Stored
from runner.metatask.openml_selection import named_candidate
from runner.metatask.original_document import (
    DETAILS,
    USED,
    Names,
    names_of,
    read_document,
    read_folds,
    validation_rows,
)

ORIGINAL = "original"
"""The entry of a metatask's constraints that holds what only the original's files say."""

_CSV_ERROR = re.compile(r"In CSV column #(\d+): (?:Row #\d+: )?(?:CSV )?(.*)")
_LONGEST_ROW = 2**24


def pair(path: Path) -> tuple[Path, Path]:
    """The CSV and the JSON file of a metatask, of which one is named."""
    return path.with_suffix(".csv"), path.with_suffix(".json")


def read(path: Path) -> Metatask:
    """The metatask in a pair of files.

    Args:
        path: Either file; the other lies beside it under the same name.

    Raises:
        InputError: A file is missing or damaged, they don't fit each other, or they hold what a
            metatask can't: a regression task, models of single folds, a label that is no class.
    """
    table_path, document_path = pair(path)
    document = read_document(document_path)
    names = names_of(document)
    classes = tuple(sorted(str(label) for label in document["class_labels"]))
    folds = read_folds(document, document_path)
    table = _table(table_path, document, names, classes, folds)
    validation = validation_rows(document, names, folds, table, document_path)
    try:
        return _metatask(document, names, classes, folds, table, validation)
    except UnknownClassError as error:
        raise UnknownClassError(error.message, file=table_path) from error


def _metatask(
    document: Mapping[str, Any],
    names: Names,
    classes: tuple[str, ...],
    folds: np.ndarray,
    table: pa.Table,
    validation: Mapping[int, np.ndarray],
) -> Metatask:
    predictors = document["predictors"]
    tested = _stored(table, predictors, predictors, np.arange(len(folds)), names, classes)
    target = document["target_name"]
    selection = document["selection_constraints"]
    extra = {key: value for key, value in document.items() if key not in USED}
    return Metatask(
        name=str(document["openml_task_id"]),
        dataset=document["dataset_name"],
        target=target,
        classes=classes,
        features=table.select(document["feature_names"]),
        categorical=tuple(document["cat_feature_names"]),
        labels=encode_labels(_array(table, target), classes, f"column {target!r}"),
        folds=folds,
        models=tuple(_model(document, index, tested) for index in range(len(predictors))),
        tested=tested,
        validation={
            fold: _stored(
                table,
                predictors,
                [names.validation(model, fold) for model in predictors],
                rows,
                names,
                classes,
            )
            for fold, rows in validation.items()
        },
        metric=str(selection.get("openml_metric_name", "")),
        constraints={**selection, ORIGINAL: extra},
    )


def _table(
    path: Path,
    document: Mapping[str, Any],
    names: Names,
    classes: Sequence[str],
    folds: np.ndarray,
) -> pa.Table:
    """The CSV file with texts as texts and numbers as numbers."""
    features, target = document["feature_names"], document["target_name"]
    predictors = list(document["predictors"])
    if document.get("use_validation_data"):
        numbers = range(int(folds.max()) + 1)
        predictors += [names.validation(m, f) for m in document["predictors"] for f in numbers]
    text = pa.dictionary(pa.int32(), pa.string())
    types = dict.fromkeys(document["cat_feature_names"], pa.string())
    types |= dict.fromkeys([target, *predictors], text)
    types |= {names.confidence(m, c): pa.float64() for m in predictors for c in classes}
    _check_header(path, [*features, *types])
    table = _read_csv(path, types)
    # Arrow would read some texts as dates or booleans, and write them in another way.
    other = [
        name for name in features if not _plain(table.schema.field(name).type) and name not in types
    ]
    if other:
        table = _read_csv(path, {**types, **dict.fromkeys(other, pa.string())})
    if table.num_rows != len(folds):
        raise InputError(
            f"has {table.num_rows} rows, the JSON file's folds have {len(folds)}", file=path
        )
    return table


def _check_header(path: Path, needed: Sequence[str]) -> None:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file), [])
    except FileNotFoundError:
        raise InputError("there is no such file beside the metatask's JSON", file=path) from None
    except (ValueError, csv.Error) as error:
        raise InputError(f"is no CSV: {error}", file=path) from error
    found = set(header)
    if len(found) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise InputError(f"column {twice!r} is there twice", file=path)
    for name in needed:
        if name not in found:
            raise InputError(f"lacks column {name!r}: {suggestion(name, header)}", file=path)
    for name in header:
        if name not in needed:
            raise InputError(f"column {name!r} is none that the JSON file names", file=path)


def _read_csv(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    try:
        return pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(block_size=_LONGEST_ROW),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict(types),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except (pa.ArrowException, OSError) as error:
        raise InputError(_csv_reason(path, error), file=path) from error


def _csv_reason(path: Path, error: Exception) -> str:
    text = str(error).split("\n", 1)[0]
    found = _CSV_ERROR.match(text)
    if not found:
        return f"is damaged: {text}"
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = next(csv.reader(file))
    return f"column {header[int(found[1])]!r}: {found[2]}"


def _plain(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_string(kind)
        or pa.types.is_null(kind)
    )


def _array(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        # The blocks of a file have a dictionary each.
        column = column.unify_dictionaries()
    return column.combine_chunks()


def _stored(
    table: pa.Table,
    models: Sequence[str],
    columns: Sequence[str],
    rows: np.ndarray,
    names: Names,
    classes: Sequence[str],
) -> Stored:
    predictions = np.empty((len(models), len(rows)), dtype=np.int16)
    confidences = np.empty((len(models), len(rows), len(classes)), dtype=np.float64)
    for index, column in enumerate(columns):
        texts = _array(table, column).take(pa.array(rows))
        predictions[index] = encode_labels(texts, classes, f"column {column!r}")
        for position, label in enumerate(classes):
            values = table.column(names.confidence(column, label)).to_numpy()
            confidences[index, :, position] = values[rows]
    return Stored(rows.astype(np.int32), predictions, confidences)


def _model(document: Mapping[str, Any], index: int, tested: Stored) -> Model:
    name = document["predictors"][index]
    findings = _recorded(document.get(DETAILS, {}).get(name, {}))
    found = [*findings, *examine(tested.predictions[index], tested.confidences[index])]
    if name in document["bad_predictors"] and all(finding.repaired for finding in found):
        found.append(Finding("bad", 0, False, "is among its file's bad predictors"))
    return Model(
        name=name,
        description=str(document["predictor_descriptions"].get(name, "")),
        origin=_origin(name),
        findings=tuple(found),
    )


def _origin(name: str) -> dict[str, int]:
    """The run of OpenML's that a model's name tells, if it does."""
    try:
        candidate = named_candidate(name)
    except ValueError:
        return {}
    return {"flow": candidate.flow, "run": candidate.run}


def _recorded(details: Mapping[str, Any]) -> list[Finding]:
    """What the original's build found; in how many rows it doesn't say."""
    findings = []
    if details.get("file_ground_truth_corrupted"):
        text = "the truth in the run's file differed from the data's labels; the data's count"
        findings.append(Finding("truth", 0, True, text))
    if details.get("confidences_corrupted"):
        fixed = bool(details.get("confidences_fixed"))
        text = "another class than the predicted had the highest confidence in some rows"
        findings.append(Finding("confidences", 0, fixed, text + (", made equal" if fixed else "")))
    return findings
