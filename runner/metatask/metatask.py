"""A metatask: a task together with the stored predictions of many models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class Finding:
    """Something about a model's predictions that a reader must know.

    Attributes:
        kind: A short word for it, such as ``swapped`` or ``confidences``.
        rows: How many rows it concerns.
        repaired: Whether the stored predictions are free of it now.
        text: The sentence that says it.
    """

    kind: str
    rows: int
    repaired: bool
    text: str


@dataclass(frozen=True)
class Model:
    """A base model.

    Attributes:
        name: Unique within a metatask.
        description: What was trained, in its maker's words.
        origin: Where it is from, such as ``flow``, ``run`` and ``setup`` at OpenML, or ``system``
            and ``configuration`` in a sweep.
        findings: Of its predictions.
        train_seconds: What training it took over all folds; None where nobody recorded it.
    """

    name: str
    description: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    train_seconds: float | None = None

    @property
    def corrupted(self) -> bool:
        """Whether its predictions hold something that couldn't be repaired."""
        return any(not finding.repaired for finding in self.findings)


@dataclass(frozen=True)
class Stored:
    """What the models predicted of some rows.

    Attributes:
        rows: (rows,) int32, ascending positions in the task's table.
        predictions: (models, rows) int16, positions in the classes.
        confidences: (models, rows, classes) float32 or float64, as they were stored.
    """

    rows: np.ndarray
    predictions: np.ndarray
    confidences: np.ndarray


@dataclass(frozen=True)
class Metatask:
    """A task with the stored predictions of many models.

    Attributes:
        name: Of the metatask: an OpenML task's number, or a sweep's task.
        dataset: The data set's name.
        target: The target column's name.
        classes: The labels as text, sorted.
        features: The task's table without its target, every row of it.
        categorical: Those of its columns that hold categories.
        labels: (rows,) int16, the true classes as positions in ``classes``.
        folds: (rows,) int16, the fold that tests a row; -1 where none does.
        models: In the order of the first axis of ``tested`` and of ``validation``.
        tested: What each model predicted of the rows that it was tested on, those of a fold by
            the model that was trained on the other folds.
        validation: By fold, what the models predicted of rows that the fold's training part has,
            each row predicted by a model trained without it; empty where nobody stored that.
        metric: The name of the measure that the models were selected by; empty for none.
        constraints: How the models were selected, for a reader.
    """

    name: str
    dataset: str
    target: str
    classes: tuple[str, ...]
    features: pa.Table
    categorical: tuple[str, ...]
    labels: np.ndarray
    folds: np.ndarray
    models: tuple[Model, ...]
    tested: Stored
    validation: Mapping[int, Stored] = field(default_factory=dict)
    metric: str = ""
    constraints: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def fold_numbers(self) -> tuple[int, ...]:
        """The folds that test any row, ascending."""
        return tuple(int(fold) for fold in np.unique(self.folds) if fold >= 0)
