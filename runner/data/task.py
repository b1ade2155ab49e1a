"""What a data set is to the rest of the program: arrays, the text of its classes, a fingerprint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from runner.errors import InputError

Kind = Literal["numeric", "categorical"]

UNLABELLED = 2
"""What ``Task.y`` says of a test row whose label only a competition has."""


class TaskError(InputError):
    """A task that can't be used, told in one line.

    Args:
        message: What is wrong and what would be right.
        key: The key of the task's entry in a study that is at fault: ``file``, ``target``,
            ``positive``, ``test``, ``categorical``, ``id``, ``sklearn`` or ``openml``. Whoever
            knows the study adds file and line.
    """

    def __init__(self, message: str, *, key: str):
        super().__init__(" ".join(message.splitlines()))
        self.key = key


@dataclass(frozen=True)
class Column:
    """A feature.

    Attributes:
        levels: The texts of a categorical column, sorted; empty for a numeric one.
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Task:
    """A binary classification task.

    Attributes:
        name: What the study calls it.
        fingerprint: SHA-256 (hex) of the content; ``runner.data.fingerprint`` says of what.
        columns: The features in the file's order.
        numeric: float64 (n, p), the numeric features in order; NaN is a gap.
        categorical: int32 (n, q), the categorical features in order, as indices into the
            column's levels; -1 is a gap.
        y: uint8 (n,), 1 where the row is of the positive class; ``UNLABELLED`` in all rows of a
            test file without labels.
        positive: The positive class's text.
        negative: The other class's text; ``not X`` where X was set against several classes.
        given_test: How many rows, the last ones, came from a separate test file.
        test_ids: What the file calls these rows, one text each; empty where it doesn't.
        folds: int8 (n,), the fold that tests each row, where the task has folds of its own; then
            there are no test rows.
    """

    name: str
    fingerprint: str
    columns: tuple[Column, ...]
    numeric: NDArray[np.float64]
    categorical: NDArray[np.int32]
    y: NDArray[np.uint8]
    positive: str
    negative: str
    given_test: int = 0
    test_ids: tuple[str, ...] = ()
    folds: NDArray[np.int8] | None = None

    @property
    def has_test_labels(self) -> bool:
        """Whether the test rows can be scored here."""
        return bool(self.y[-1] != UNLABELLED)

    def categorical_columns(self) -> tuple[Column, ...]:
        """The columns of ``categorical``, in its order."""
        return tuple(column for column in self.columns if column.kind == "categorical")
