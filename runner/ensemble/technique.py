"""What an ensemble technique is: fitted on some rows' stored predictions, asked about others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np


@dataclass(frozen=True)
class Part:
    """Rows of a metatask, as a technique sees them.

    Attributes:
        confidences: (models, rows, classes).
        predictions: (models, rows) int16, positions in the classes.
        y: (rows,) int16, the true classes.
        X: (rows, columns) float64, the task's features encoded; None where no technique needs it.
    """

    confidences: np.ndarray
    predictions: np.ndarray
    y: np.ndarray
    X: np.ndarray | None = None


@dataclass(frozen=True)
class Answer:
    """What a technique says of some rows.

    Attributes:
        predictions: (rows,) int16, positions in the classes.
        confidences: (rows, classes); None where the technique knows only classes.
    """

    predictions: np.ndarray
    confidences: np.ndarray | None = None


@runtime_checkable
class Technique(Protocol):
    """An ensemble technique; a user's own class needs these two methods, and nothing to import."""

    def fit(
        self,
        confidences: np.ndarray,
        predictions: np.ndarray,
        y: np.ndarray,
        X: np.ndarray | None = None,
    ) -> object:
        """Learn from the base models' predictions of some rows and their true classes."""

    def predict(
        self, confidences: np.ndarray, predictions: np.ndarray, X: np.ndarray | None = None
    ) -> np.ndarray | Answer:
        """Confidences (rows, classes), or classes (rows,) as positions, of other rows.

        An Answer where both are known and the class isn't the first of the most confident ones.
        """


@runtime_checkable
class Oracle(Protocol):
    """A bound that no technique can reach: it sees the true classes of the rows it is asked for."""

    def answer(self, part: Part) -> Answer:
        """The answer for rows whose true classes it sees."""
