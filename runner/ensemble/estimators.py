"""Stored predictions as fitted scikit-learn estimators, which any tool for those can combine.

An estimator is asked about rows of the task, and has to know which: the last column of X says it,
as the row's number times 2^-60 (``with_row_numbers``). Rows that look alike are told apart so, and
yet no distance between rows and no linear model sees a column of such small values. A tree would:
where trees get X themselves (a ``StackingClassifier`` of trees with ``passthrough``), drop the last
column before them.

    X = with_row_numbers(features, rows)
    models = stored_classifiers(metatask)
    stack = StackingClassifier(models, cv="prefit").fit(X[learnt], y[learnt])
    stack.predict_proba(X[asked])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from runner.metatask.metatask import Metatask, Stored

_STEP = 2.0**-60


class Library:
    """The stored predictions that a set of estimators share.

    Args:
        stored: What each model predicted of each row.
        y: (rows,), the rows' true classes as positions.
        classes: The labels that these positions mean.
    """

    def __init__(self, stored: Stored, y: np.ndarray, classes: np.ndarray) -> None:
        self.stored = stored
        self.y = y
        self.classes = classes

    def __deepcopy__(self, memo: dict[int, Any]) -> Library:
        """Itself: scikit-learn's ``clone`` would copy the predictions once a model."""
        return self

    def places(self, X: Any) -> np.ndarray:
        """Where the rows of X stand among the stored ones.

        Raises:
            ValueError: X has no row numbers, or there is a row without predictions.
        """
        numbers = row_numbers(X)
        rows = self.stored.rows
        places = np.minimum(np.searchsorted(rows, numbers), len(rows) - 1)
        strange = numbers[rows[places] != numbers]
        if len(strange):
            raise ValueError(f"row {strange[0]} has no stored predictions")
        return places


class StoredClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A base model that was trained elsewhere and only looks up what it predicted.

    It is fitted from the beginning. ``fit`` learns no more than how the labels are spelt: a
    ``VotingClassifier`` fits its estimators on labels that it has numbered.

    Args:
        library: The predictions of all models.
        model: This one's position.
    """

    def __init__(self, library: Library, model: int) -> None:
        self.library = library
        self.model = model

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def classes_(self) -> np.ndarray:
        """The labels, in the order of the confidences' columns."""
        spelt: np.ndarray = getattr(self, "_labels", self.library.classes)
        return spelt

    def fit(self, X: Any, y: Any) -> StoredClassifier:
        """Learn what the true classes of some rows are called.

        Args:
            X: (rows, columns), with row numbers.
            y: (rows,), any labels of the true classes.

        Raises:
            ValueError: A label stands for rows of two classes.
        """
        labels, spelt = np.unique(np.asarray(y), return_inverse=True)
        true = self.library.y[self.library.places(X)]
        codes = np.empty(len(labels), dtype=np.int64)
        for place, label in enumerate(labels):
            meant = np.unique(true[spelt == place])
            if len(meant) > 1:
                raise ValueError(f"label {label!r} stands for rows of {len(meant)} classes")
            codes[place] = meant[0]
        self._labels, self._codes = labels, codes
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The stored confidences (rows, classes)."""
        places = self.library.places(X)
        found = self.library.stored.confidences[self.model, places]
        return np.asarray(found if not hasattr(self, "_codes") else found[:, self._codes])

    def predict(self, X: Any) -> np.ndarray:
        """The stored labels (rows,); of classes it knows no label for, the most confident other."""
        places = self.library.places(X)
        found = self.library.stored.predictions[self.model, places].astype(np.int64)
        if not hasattr(self, "_codes"):
            return np.asarray(self.library.classes[found])
        place_of = np.full(self.library.stored.confidences.shape[2], -1)
        place_of[self._codes] = np.arange(len(self._codes))
        known = place_of[found]
        unknown = known < 0
        if unknown.any():
            known[unknown] = self.predict_proba(X)[unknown].argmax(axis=1)
        return np.asarray(self._labels[known])


def stored_classifiers(metatask: Metatask) -> list[tuple[str, StoredClassifier]]:
    """A metatask's models by name, as scikit-learn's ensembles take them; rows are the task's."""
    y = metatask.labels[metatask.tested.rows]
    library = Library(metatask.tested, y, np.array(metatask.classes))
    return [
        (model.name, StoredClassifier(library, place))
        for place, model in enumerate(metatask.models)
    ]


def with_row_numbers(X: Any, rows: Any) -> np.ndarray:
    """Features (rows, columns) float64 with a last column that tells which row each one is.

    Args:
        X: (rows, columns), numbers.
        rows: (rows,), numbers of the task's rows, below 2^53.
    """
    return np.column_stack([np.asarray(X, dtype=np.float64), np.asarray(rows) * _STEP])


def row_numbers(X: Any) -> np.ndarray:
    """The rows' numbers (rows,) int64 that ``with_row_numbers`` wrote.

    Raises:
        ValueError: It didn't, or the column was scaled since.
    """
    last = np.asarray(X)[:, -1].astype(np.float64) / _STEP
    numbers = np.rint(last)
    if len(last) and (np.any(numbers != last) or numbers.min() < 0 or numbers.max() >= 2.0**53):
        raise ValueError("the last column of X holds no row numbers: see with_row_numbers")
    return numbers.astype(np.int64)
