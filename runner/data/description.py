"""What a task is, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from runner.data.splits import Split
from runner.data.task import UNLABELLED, Task


@dataclass(frozen=True)
class ColumnDescription:
    """A feature.

    Attributes:
        kind: ``numeric`` or ``categorical``.
        levels: How many different values a categorical one has.
        missing: Rows in which it has none.
    """

    name: str
    kind: str
    levels: int | None
    missing: int


@dataclass(frozen=True)
class TaskDescription:
    """A task with its split.

    Attributes:
        fingerprint: SHA-256 (hex) of the content.
        rows: Training and test rows.
        test_rows: Those kept for, or brought along for, the test score.
        test_labels: Whether these have labels.
        classes: Rows by class, the positive one last.
        positive: The class to find.
        folds: Rows in each.
        missing: Cells without a value, over all columns.
        columns: The features, as prepared ones are made of them.
    """

    name: str
    fingerprint: str
    rows: int
    test_rows: int
    test_labels: bool
    classes: Mapping[str, int]
    positive: str
    folds: tuple[int, ...]
    missing: int
    columns: tuple[ColumnDescription, ...]

    @property
    def categorical(self) -> int:
        """How many columns are categorical."""
        return sum(column.kind == "categorical" for column in self.columns)

    @property
    def positive_share(self) -> float:
        """The share of rows, of those with a label, that are of the positive class."""
        return self.classes[self.positive] / sum(self.classes.values())


def describe(task: Task, split: Split) -> TaskDescription:
    """A task and its split in numbers."""
    columns = _columns(task)
    labelled = task.y[task.y != UNLABELLED]
    positives = int(labelled.sum())
    return TaskDescription(
        name=task.name,
        fingerprint=task.fingerprint,
        rows=len(task.y),
        test_rows=len(split.test_rows),
        test_labels=task.has_test_labels,
        classes={task.negative: len(labelled) - positives, task.positive: positives},
        positive=task.positive,
        folds=tuple(np.bincount(split.fold[split.train_rows]).tolist()),
        missing=sum(column.missing for column in columns),
        columns=columns,
    )


def _columns(task: Task) -> tuple[ColumnDescription, ...]:
    missing = {
        "numeric": iter(np.isnan(task.numeric).sum(axis=0).tolist()),
        "categorical": iter((task.categorical < 0).sum(axis=0).tolist()),
    }
    return tuple(
        ColumnDescription(
            column.name,
            column.kind,
            len(column.levels) if column.kind == "categorical" else None,
            next(missing[column.kind]),
        )
        for column in task.columns
    )
