"""Results that Assembled-OpenML's program stored: the classes that techniques predicted.

A file ``results_for_metatask_ID.csv`` has a row for each row of the task that techniques were
scored on: ``ground_truth``, ``Index-Metatask`` (the row), ``Fold``, and a column a technique. The
single and the virtual best are columns among them (``DCS_SBA`` and ``DCS_VBA`` in the paper's).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from runner.ensemble.closed_gap import LARGE_ROWS, ClosedGaps, closed_gaps
from runner.errors import InputError, suggestion
from runner.metatask.integrity import BOOLEANS
from runner.metrics import hard_auc

_PREFIX, _ENDING = "results_for_metatask_", ".csv"
_TRUTH, _ROW, _FOLD = "ground_truth", "Index-Metatask", "Fold"
_TASK_ID, _ROWS, _CLASSES = "OpenMl Task ID", "#instances", "#classes"
_NO_TASK = ("", "-")
_SINGLE_BEST = ("sba", "singlebest")
_VIRTUAL_BEST = ("vba", "virtualbest")


@dataclass(frozen=True)
class TaskSize:
    """A task as the table of tasks has it.

    Attributes:
        rows: Of its data set.
        classes: How many it has; None where the table doesn't say.
    """

    rows: int
    classes: int | None


@dataclass(frozen=True)
class StoredResults:
    """What techniques score on the tasks of a folder.

    Attributes:
        scores: By task, by technique, the mean over folds of the AUROC of hard predictions.
        sizes: Of those tasks.
        single_best: The technique that is the lower bound.
        virtual_best: The one that is the upper bound.
    """

    scores: Mapping[str, Mapping[str, float]]
    sizes: Mapping[str, TaskSize]
    single_best: str
    virtual_best: str

    def closed_gaps(self) -> ClosedGaps:
        """Where each technique lies between the bounds."""
        return closed_gaps(self.scores, self.single_best, self.virtual_best)

    def large(self) -> frozenset[str]:
        """The tasks of ``LARGE_ROWS`` rows or more."""
        return frozenset(task for task, size in self.sizes.items() if size.rows >= LARGE_ROWS)


@dataclass(frozen=True)
class _File:
    """A file's columns, as codes of its labels.

    Attributes:
        labels: The classes, those of the truth first.
        techniques: By name (rows,) int, positions in the labels.
    """

    path: Path
    labels: Sequence[str]
    truth: np.ndarray
    folds: np.ndarray
    techniques: Mapping[str, np.ndarray]


def read_results(folder: Path, tasks: Path) -> StoredResults:
    """Score the stored results of a folder.

    Args:
        folder: Of ``results_for_metatask_ID.csv`` files.
        tasks: The table of tasks, a CSV file with the columns ``OpenMl Task ID``, ``#instances``
            and, where it has one, ``#classes``.

    Raises:
        InputError: A file can't be scored; names it and the column.
    """
    paths = {
        path.name[len(_PREFIX) : -len(_ENDING)]: path
        for path in sorted(folder.glob(f"{_PREFIX}*{_ENDING}"))
    }
    if not paths:
        raise InputError(f"holds no file {_PREFIX}*{_ENDING}", file=folder)
    known = read_tasks(tasks)
    for task, path in paths.items():
        if task not in known:
            raise InputError(
                f"lacks task {task} of {path.name} in column {_TASK_ID!r}: "
                f"{suggestion(task, known)}",
                file=tasks,
            )
    ordered = sorted(paths, key=lambda task: list(known).index(task))
    files = {task: _read(paths[task], known[task].classes) for task in ordered}
    _check_alike(list(files.values()))
    first = next(iter(files.values()))
    return StoredResults(
        scores={task: _scores(file) for task, file in files.items()},
        sizes={task: known[task] for task in files},
        single_best=_bound(first, _SINGLE_BEST, "single best (SBA)"),
        virtual_best=_bound(first, _VIRTUAL_BEST, "virtual best (VBA)"),
    )


def read_tasks(path: Path) -> dict[str, TaskSize]:
    """The sizes of tasks by their number, in the table's order.

    A row without an id, such as one of means, is left out.

    Raises:
        InputError: The file is missing, or a column is, or a size is no number.
    """
    header, rows = _rows(path)
    for name in (_TASK_ID, _ROWS):
        if name not in header:
            raise InputError(f"lacks column {name!r}: {suggestion(name, header)}", file=path)
    tasks = {}
    for line, row in rows:
        cells = dict(zip(header, row, strict=True))
        task = cells[_TASK_ID].strip().removesuffix(".0")
        if task in _NO_TASK:
            continue
        classes = cells.get(_CLASSES)
        tasks[task] = TaskSize(
            _whole(cells[_ROWS], _ROWS, path, line),
            _whole(classes, _CLASSES, path, line) if classes else None,
        )
    return tasks


def _read(path: Path, classes: int | None) -> _File:
    header, rows = _rows(path)
    for name in (_TRUTH, _ROW, _FOLD):
        if name not in header:
            raise InputError(f"lacks column {name!r}: {suggestion(name, header)}", file=path)
    if not rows:
        raise InputError("has no rows", file=path)
    techniques = [name for name in header if name not in (_TRUTH, _ROW, _FOLD)]
    lines = [line for line, _ in rows]
    columns = dict(zip(header, zip(*(row for _, row in rows), strict=True), strict=True))
    for name in (_TRUTH, *techniques):
        if "" in columns[name]:
            line = lines[columns[name].index("")]
            raise InputError(f"column {name!r} has no label here", file=path, line=line)
    whole = {
        name: np.array(
            [
                _whole(cell, name, path, line)
                for cell, line in zip(columns[name], lines, strict=True)
            ]
        )
        for name in (_ROW, _FOLD)
    }
    _check_rows(whole[_ROW], lines, path)
    _check_folds(whole[_FOLD], path)
    spelling = _Spelling(columns[_TRUTH])
    truth = spelling.codes(columns[_TRUTH])
    true_classes = len(spelling.labels)
    predicted = {}
    for name in techniques:
        predicted[name] = spelling.codes(columns[name])
        _check_classes(path, name, spelling.labels, true_classes, classes)
    return _File(path, tuple(spelling.labels), truth, whole[_FOLD], predicted)


class _Spelling:
    """Labels as codes; those that differ from a true label in upper and lower case alone are it.

    Programs that read and write tables change how booleans are spelled: True, true and TRUE.

    Args:
        truths: The column of true labels.
    """

    def __init__(self, truths: Sequence[str]) -> None:
        self.labels: list[str] = []
        self._codes: dict[str, int] = {}
        distinct = list(dict.fromkeys(truths))
        folded = [label.casefold() for label in distinct]
        self._folded: dict[str, int] = {}
        for label, fold in zip(distinct, folded, strict=True):
            if fold in BOOLEANS and fold in self._folded:
                self._codes[label] = self._folded[fold]
                continue
            self._codes[label] = len(self.labels)
            if fold in BOOLEANS or folded.count(fold) == 1:
                self._folded[fold] = len(self.labels)
            self.labels.append(label)

    def codes(self, texts: Sequence[str]) -> np.ndarray:
        """(rows,) int64 positions in the labels, to which new ones are added."""
        return np.array([self._code(text) for text in texts], dtype=np.int64)

    def _code(self, text: str) -> int:
        code = self._codes.get(text)
        if code is None:
            code = self._folded.get(text.casefold(), len(self.labels))
            if code == len(self.labels):
                self.labels.append(text)
            self._codes[text] = code
        return code


def _check_classes(
    path: Path, name: str, labels: Sequence[str], true_classes: int, classes: int | None
) -> None:
    """Refuse a predicted class that no class of the task can be.

    The rows at hand may lack a rare class, but there are no more classes than the task has.
    """
    most = true_classes if classes is None else max(classes, true_classes)
    if len(labels) <= most:
        return
    wrong = labels[most]
    raise InputError(
        f"column {name!r} holds {wrong!r}, which is no class of the task: "
        f"{suggestion(wrong, labels[:true_classes])}",
        file=path,
    )


def _check_rows(rows: np.ndarray, lines: Sequence[int], path: Path) -> None:
    _, first = np.unique(rows, return_index=True)
    if len(first) < len(rows):
        again = int(np.setdiff1d(np.arange(len(rows)), first)[0])
        raise InputError(
            f"column {_ROW!r}: row {rows[again]} is there twice", file=path, line=lines[again]
        )


def _check_folds(folds: np.ndarray, path: Path) -> None:
    missing = np.setdiff1d(np.arange(folds.max() + 1), folds)
    if len(missing) or folds.min() < 0:
        raise InputError(
            f"column {_FOLD!r} should hold 0, 1, 2 and so on, and "
            + (f"lacks fold {missing[0]}" if len(missing) else f"holds {folds.min()}"),
            file=path,
        )


def _check_alike(files: Sequence[_File]) -> None:
    """Files of one benchmark have the same techniques and, lest one was cut short, folds."""
    names = list(dict.fromkeys(name for file in files for name in file.techniques))
    folds = max(int(file.folds.max()) for file in files)
    for file in files:
        for name in names:
            if name not in file.techniques:
                raise InputError(
                    f"lacks column {name!r}, which other files of the folder have: "
                    f"{suggestion(name, file.techniques)}",
                    file=file.path,
                )
        if file.folds.max() < folds:
            raise InputError(
                f"column {_FOLD!r} ends at fold {file.folds.max()}, in other files of the folder "
                f"at fold {folds}",
                file=file.path,
            )


def _scores(file: _File) -> dict[str, float]:
    """Each technique's mean over folds, after AUROC was defined in all of them."""
    totals = dict.fromkeys(file.techniques, 0.0)
    numbers = range(int(file.folds.max()) + 1)
    for fold in numbers:
        rows = np.flatnonzero(file.folds == fold)
        y = file.truth[rows]
        if y.min() == y.max():
            raise InputError(
                f"column {_TRUTH!r}: fold {fold} has one class, for which there is no AUROC",
                file=file.path,
            )
        for name, predicted in file.techniques.items():
            totals[name] += hard_auc(y, predicted[rows], len(file.labels))
    return {name: total / len(numbers) for name, total in totals.items()}


def _bound(file: _File, ends: Sequence[str], what: str) -> str:
    found = [
        name
        for name in file.techniques
        if name.casefold().replace("_", ".").rsplit(".", 1)[-1] in ends
    ]
    if len(found) == 1:
        return found[0]
    wanted = "'" + ends[0].upper() + "' or ends in '_" + ends[0].upper() + "'"
    problem = "has no column of" if not found else f"has {len(found)} columns of"
    raise InputError(f"{problem} the {what}: one that is called {wanted}", file=file.path)


def _rows(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header, and each row with its line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            header = next(reader, [])
            rows = [(reader.line_num, row) for row in reader if row]
    except FileNotFoundError:
        raise InputError("there is no such file", file=path) from None
    except (ValueError, csv.Error) as error:
        raise InputError(f"is no CSV: {error}", file=path) from error
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise InputError(f"column {twice!r} is there twice", file=path)
    for line, row in rows:
        if len(row) != len(header):
            raise InputError(
                f"{len(row)} fields, the header has {len(header)}", file=path, line=line
            )
    return header, rows


def _whole(text: str, column: str, path: Path, line: int) -> int:
    try:
        number = float(text)
        if number != int(number):
            raise ValueError
    except (ValueError, OverflowError):
        raise InputError(
            f"column {column!r} holds {text!r}, which is no whole number", file=path, line=line
        ) from None
    return int(number)
