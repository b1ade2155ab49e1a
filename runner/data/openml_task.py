"""Tasks of the OpenML server: their table and their own folds, from the cache or from there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from runner.data.arff import ArffError, parse_arff
from runner.data.files import read
from runner.data.table import Table, checked
from runner.data.task import TaskError
from runner.errors import InputError, suggestion
from runner.openml import Archive, TaskFiles
from runner.openml.records import CLASSIFICATION

KEY = "openml"
_TEST = "TEST"
_MOST_FOLDS = 127
_COLUMNS = ("type", "rowid", "repeat", "fold")


@dataclass(frozen=True, eq=False)
class OpenmlTask:
    """A classification task as OpenML has it.

    Attributes:
        dataset: The data set's name.
        table: The target and the features; names of rows, and what the data set's maker leaves
            out, are no features.
        target: The target's name.
        folds: int16 (rows,), the fold of repeat 0 that tests a row; -1 where none does.
        complete: Whether each fold trains on all rows that it doesn't test.
    """

    number: int
    dataset: str
    table: Table
    target: str
    folds: NDArray[np.int16]
    complete: bool


def read_openml(number: int) -> OpenmlTask:
    """A task by its number at OpenML.

    What the openml package's cache lacks is fetched from the server.

    Raises:
        TaskError: There is no such task, it is none of classification, it can't be had, or its
            files don't fit together.
    """
    try:
        return read_files(Archive.configured().task(number))
    except TaskError:
        raise
    except InputError as error:
        raise TaskError(str(error), key=KEY) from error


def folds_of_all(task: OpenmlTask) -> NDArray[np.int8]:
    """The task's folds, each row tested in one and trained on in all others.

    Raises:
        TaskError: They are of another kind, or too many.
    """
    count = int(task.folds.max()) + 1
    if not task.complete or not 2 <= count <= _MOST_FOLDS:
        raise TaskError(
            f"the folds of OpenML's task {task.number} aren't those of a cross-validation with 2 "
            f"to {_MOST_FOLDS} folds, which is what a sweep needs",
            key=KEY,
        )
    return task.folds.astype(np.int8)


def read_files(files: TaskFiles) -> OpenmlTask:
    """A task from its files.

    Raises:
        TaskError: As :func:`read_openml` does.
    """
    task = files.task
    if task.kind != CLASSIFICATION or files.splits is None:
        raise TaskError(
            f"OpenML's task {task.number} is one of {task.kind or 'an unknown kind'}; only those "
            f"of {CLASSIFICATION} have classes to find",
            key=KEY,
        )
    table = _table(files)
    folds, complete = read_folds(files.splits, table.rows)
    return OpenmlTask(task.number, files.dataset.name, table, task.target, folds, complete)


def read_folds(path: Path, rows: int) -> tuple[NDArray[np.int16], bool]:
    """The fold of repeat 0 that tests each row, and whether it trains on all others.

    Args:
        path: An ARFF file with the columns type, rowid, repeat and fold.
        rows: Of the data set.

    Raises:
        TaskError: It isn't that, speaks of rows that aren't there, or tests a row twice.
    """
    columns = _splits(path)
    if "sample" in columns and np.any(columns["sample"] != 0):
        raise TaskError(f"{path}: folds with samples are of a learning curve", key=KEY)
    ids = columns["rowid"]
    if len(ids) and not 0 <= ids.min() <= ids.max() < rows:
        raise TaskError(
            f"{path} speaks of row {int(ids.max())}, but the data set has {rows} rows", key=KEY
        )
    first = columns["repeat"] == 0
    test = first & (columns["type"] == _TEST)
    counts = np.bincount(ids[test], minlength=rows)
    if counts.max(initial=0) > 1:
        raise TaskError(f"{path}: row {int(counts.argmax())} is tested more than once", key=KEY)
    folds = np.full(rows, -1, dtype=np.int16)
    folds[ids[test]] = columns["fold"][test]
    numbers = np.unique(folds[folds >= 0])
    trained = np.bincount(columns["fold"][first & ~test], minlength=len(numbers))
    tested = np.bincount(folds[folds >= 0], minlength=len(trained))
    return folds, bool(
        (folds >= 0).all() and np.array_equal(trained + tested, len(tested) * [rows])
    )


def _table(files: TaskFiles) -> Table:
    table = read(files.data, KEY)
    table = replace(table, origin=f"OpenML's data set {files.dataset.number} ({files.data})")
    target = files.task.target
    if target not in table.columns:
        raise TaskError(
            f"{table.origin} has no column {target!r}, the target of task {files.task.number}: "
            f"{suggestion(target, table.columns)}",
            key=KEY,
        )
    ignored = set(files.dataset.ignored) - {target}
    return checked(
        replace(table, columns={n: c for n, c in table.columns.items() if n not in ignored})
    )


def _splits(path: Path) -> dict[str, np.ndarray]:
    try:
        found = parse_arff(path.read_text(encoding="utf-8")).columns
    except ArffError as error:
        raise TaskError(f"{path}: {error}; delete it to have it fetched again", key=KEY) from error
    lacking = [name for name in _COLUMNS if name not in found]
    if lacking:
        raise TaskError(f"{path} has no column {lacking[0]!r}", key=KEY)
    numbers = {
        name: np.asarray(found[name], dtype=np.float64).astype(np.int64)
        for name in (*_COLUMNS[1:], "sample")
        if name in found
    }
    return {"type": np.asarray(found["type"].cast(pa.string())), **numbers}
