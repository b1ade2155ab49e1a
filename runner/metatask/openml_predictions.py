"""What a run's file of predictions says, in any of the formats that OpenML's clients wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from runner.data.arff import parse_arff
from runner.data.table import labels
from runner.errors import InputError, suggestion
from runner.metatask.coverage import check_run_folds, row_order
from runner.metatask.integrity import BOOLEANS, Checked, check_model
from runner.metatask.metatask import Finding

_CONFIDENCE = "confidence."
_TRUTHS = ("correct", "truth")
"""Names of the column of true labels; clients use either."""


@dataclass(frozen=True)
class Question:
    """A run's file and what it is to fit.

    Attributes:
        name: The model's, for messages.
        description: Its flow's name.
        content: The file: ARFF.
        classes: The task's labels as text, sorted.
        rows: (rows,) the task's rows that are tested, ascending.
        labels: (rows,) int16, their classes.
        folds: (rows,) int16, the folds that test them.
    """

    name: str
    description: str
    content: bytes
    classes: tuple[str, ...]
    rows: np.ndarray
    labels: np.ndarray
    folds: np.ndarray


@dataclass(frozen=True)
class Unusable:
    """Why a run's predictions can't serve."""

    reason: str


def examine_run(question: Question) -> Checked | Unusable:
    """A run's predictions in the task's order, checked and repaired; or why they can't serve."""
    try:
        return _examined(question)
    except (InputError, ValueError, pa.ArrowException) as error:
        text = " ".join(str(error).split())
        return Unusable(text.removeprefix(f"{question.name}: "))


def _examined(question: Question) -> Checked:
    columns = parse_arff(question.content.decode("utf-8", "replace")).columns
    first = _first_repeat(columns)
    order = row_order(question.name, _numbers(columns, "row_id")[first], question.rows)
    taken = first[order]
    truth = next((name for name in _TRUTHS if name in columns), None)
    checked = check_model(
        question.name,
        question.description,
        question.labels,
        _texts(columns, "prediction", taken),
        _confidences(columns, question.classes, taken),
        None if truth is None else _texts(columns, truth, taken),
        question.classes,
    )
    strange: tuple[Finding, ...] = ()
    if "fold" in columns:
        strange = check_run_folds(_numbers(columns, "fold")[taken], question.folds)
    return Checked(checked.predictions, checked.confidences, (*checked.findings, *strange))


def _first_repeat(columns: Mapping[str, pa.ChunkedArray]) -> np.ndarray:
    """The rows of the file that are of repeat 0, by their positions in it."""
    if "repeat" not in columns:
        return np.arange(len(_column(columns, "row_id")))
    return np.flatnonzero(_numbers(columns, "repeat") == 0)


def _column(columns: Mapping[str, pa.ChunkedArray], name: str) -> pa.ChunkedArray:
    if name not in columns:
        raise InputError(f"there is no column {name!r}: {suggestion(name, columns)}")
    return columns[name]


def _numbers(columns: Mapping[str, pa.ChunkedArray], name: str) -> np.ndarray:
    column = _column(columns, name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)


def _texts(columns: Mapping[str, pa.ChunkedArray], name: str, taken: np.ndarray) -> np.ndarray:
    found = labels(_column(columns, name), untyped=False)
    texts = np.array([*found.levels, None], dtype=object)
    return np.asarray(texts[found.codes[taken]])


def _confidences(
    columns: Mapping[str, pa.ChunkedArray], classes: tuple[str, ...], taken: np.ndarray
) -> np.ndarray | None:
    """(rows, classes) float64; None for a file without confidences."""
    own = {
        name.removeprefix(_CONFIDENCE): _numbers(columns, name)[taken]
        for name in columns
        if name.startswith(_CONFIDENCE)
    }
    if not own:
        return None
    found = [own.pop(_spelling(label, own), None) for label in classes]
    for label, values in zip(classes, found, strict=True):
        if values is None:
            raise InputError(f"there is no column 'confidence.{label}', though there are others")
    # A class that is declared and that no row has.
    surplus = next((label for label, values in own.items() if np.any(values != 0)), None)
    if surplus is not None:
        raise InputError(
            f"column 'confidence.{surplus}' is of no class of the task: "
            f"{suggestion(surplus, classes)}"
        )
    return np.stack([values for values in found if values is not None], axis=1)


def _spelling(label: str, known: Mapping[str, object]) -> str:
    """The label as the file spells it; only of booleans the case may differ."""
    if label in known or label.casefold() not in BOOLEANS:
        return label
    return next((other for other in known if other.casefold() == label.casefold()), label)
