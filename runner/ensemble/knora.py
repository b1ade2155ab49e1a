"""K-nearest oracles (Ko, Sabourin & Britto 2008), run by DESlib on the stored predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from runner.ensemble.estimators import Library, StoredClassifier, with_row_numbers
from runner.ensemble.features import UnitVariance
from runner.ensemble.technique import Answer
from runner.metatask.metatask import Stored


def adapted(selector: type) -> type:
    """A class of DESlib as today's scikit-learn can run it.

    DESlib 0.3.7 calls a method that scikit-learn's estimators had until 1.7.
    """
    if hasattr(selector, "_validate_data"):
        return selector
    from sklearn.utils.validation import validate_data

    def _validate_data(self: Any, *arguments: Any, **options: Any) -> Any:
        return validate_data(self, *arguments, **options)

    return type(selector.__name__, (selector,), {"_validate_data": _validate_data})


class _Knora:
    """What both have in common.

    Args:
        neighbours: How many of the rows learnt from, in features of unit variance, say which
            models are competent.
    """

    def __init__(self, neighbours: int = 7) -> None:
        if neighbours < 1:
            raise ValueError(f"neighbours must be at least 1, not {neighbours}")
        self.neighbours = neighbours

    def fit(
        self,
        confidences: np.ndarray,
        predictions: np.ndarray,
        y: np.ndarray,
        X: np.ndarray | None = None,
    ) -> _Knora:
        if X is None:
            raise ValueError("the nearest oracles need the task's features")
        self._scale = UnitVariance.learn(X)
        self._known = np.unique(y)
        library = _library(confidences, predictions, y)
        rows = self._rows(X)
        models = range(len(predictions))
        self._pool = [StoredClassifier(library, one).fit(rows, y) for one in models]
        self._selector: Any = self._pool[0]
        if len(models) == 1:
            # DESlib refuses to choose from one.
            return self
        self._selector = adapted(self._selector_class())(
            self._pool,
            k=min(self.neighbours, len(y)),
            random_state=0,
            n_jobs=1,
        )
        self._selector.fit(rows, y)
        return self

    def predict(
        self, confidences: np.ndarray, predictions: np.ndarray, X: np.ndarray | None = None
    ) -> Answer:
        assert X is not None
        nobody_knows = np.zeros(len(X), dtype=np.int16)
        library = _library(confidences, predictions, nobody_knows)
        for model in self._pool:
            model.library = library
        rows = self._rows(X)
        shares = np.zeros(confidences.shape[1:])
        shares[:, self._known] = self._selector.predict_proba(rows)
        return Answer(self._selector.predict(rows).astype(np.int16), shares)

    def _rows(self, X: np.ndarray) -> np.ndarray:
        return with_row_numbers(self._scale.apply(X), np.arange(len(X)))

    def _selector_class(self) -> type:
        raise NotImplementedError


class KnoraEliminate(_Knora):
    """KNORA-E: those models vote that are right on all neighbours, or on most of the nearest."""

    def _selector_class(self) -> type:
        from deslib.des.knora_e import KNORAE

        found: type = KNORAE
        return found


class KnoraUnion(_Knora):
    """KNORA-U: a model has a vote for each neighbour that it is right on."""

    def _selector_class(self) -> type:
        from deslib.des.knora_u import KNORAU

        found: type = KNORAU
        return found


def _library(confidences: np.ndarray, predictions: np.ndarray, y: np.ndarray) -> Library:
    rows = np.arange(len(y), dtype=np.int32)
    return Library(Stored(rows, predictions, confidences), y, np.arange(confidences.shape[2]))
