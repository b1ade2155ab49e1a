"""What all families' estimators have in common as binary scikit-learn classifiers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from runner.models.family import Choice, Parameter, Spent, Stop


def parameters(*given: Parameter | Choice) -> Mapping[str, Parameter | Choice]:
    """Parameters by name, in the order given."""
    return {parameter.name: parameter for parameter in given}


@dataclass(frozen=True)
class Prepared:
    """Checked training rows in a family's own form.

    Attributes:
        classes: The two labels, sorted.
        columns: The number of features.
        rows: What the family's training reads: binned, scaled, ...
    """

    classes: np.ndarray
    columns: int
    rows: Any


class BinaryPathClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """The frame of a ``family.PathClassifier``: a family adds preparation, training and margin."""

    shared: ClassVar[tuple[str, ...]]
    """The constructor's parameters whose values the path passes through."""

    parameters: ClassVar[Mapping[str, Parameter | Choice]]
    """The constructor's hyper-parameters, by name."""

    classes_: np.ndarray
    n_features_in_: int

    @abstractmethod
    def _prepare(self, X: np.ndarray, positive: np.ndarray) -> Any:
        """The training rows in the family's own form; ``positive`` is (rows,) bool."""

    @abstractmethod
    def _train(self, rows: Any, stops: Sequence[Stop]) -> Iterator[Spent | None]:
        """Train on what ``_prepare`` gave; pauses and yields as ``family.PathClassifier.path``."""

    def _passed(self, stops: Sequence[Stop], *, descending: bool = False) -> list[tuple[Any, ...]]:
        """The stops' values of the shared parameters, in their order.

        Raises:
            ValueError: If a stop lies before the one that it follows.
        """
        points = [tuple(stop[name] for name in self.shared) for stop in stops]
        if points != sorted(points, reverse=descending):
            way, names = "descend" if descending else "ascend", ", then in ".join(self.shared)
            raise ValueError(f"stops must {way} in {names}, not be {points}")
        return points

    @abstractmethod
    def _margin(self, X: np.ndarray) -> np.ndarray:
        """The margins (rows,) of the model that stands."""

    def _probability(self, margin: np.ndarray) -> np.ndarray:
        """Probabilities (rows,) of the second class at margins, rising with them, 1/2 at 0.

        The logistic function, unless a family overrides it; where training doesn't minimise
        log-loss it is a convention, not a calibrated chance.
        """
        from scipy.special import expit

        probability: np.ndarray = expit(margin)
        return probability

    def prepare(self, X: Any, y: Any) -> Prepared:
        """Check and convert the training rows; see ``family.PathClassifier``."""
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}: it has {len(classes)} classes."
            )
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of two classes, but the target holds "
                f"one class only: {classes[0]!r}."
            )
        return Prepared(classes, X.shape[1], self._prepare(X, codes == 1))

    def path(self, prepared: Prepared, stops: Sequence[Stop]) -> Iterator[Spent | None]:
        """Train and pause at ``stops``; see ``family.PathClassifier``."""
        own = {name: getattr(self, name) for name in self.parameters if name not in self.shared}
        for values in (own, *stops):
            for name, value in values.items():
                if right := self.parameters[name].problem(value):
                    raise ValueError(f"{name} is {value!r}: it must be {right}")
        self.classes_ = prepared.classes
        self.n_features_in_ = prepared.columns
        # Not a generator itself: what many stops take to check is no part of the first one's fit.
        return self._train(prepared.rows, stops)

    def fit(self, X: Any, y: Any) -> Self:
        """Train on X (rows, columns) and labels y (rows,) of two classes."""
        prepared = self.prepare(X, y)
        for _ in self.path(prepared, [{name: getattr(self, name) for name in self.shared}]):
            pass
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The raw margin of the second class, (rows,) float64."""
        check_is_fitted(self)
        return self._margin(validate_data(self, X, dtype=np.float64, order="C", reset=False))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of both classes, (rows, 2)."""
        margin = self.decision_function(X)
        return np.column_stack([self._probability(-margin), self._probability(margin)])

    def predict(self, X: Any) -> np.ndarray:
        """The likelier class of each row, (rows,)."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.intp)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
