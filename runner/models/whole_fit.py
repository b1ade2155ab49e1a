"""Any binary classifier of scikit-learn's kind as one whose fit passes no other model."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from runner.models.base import BinaryPathClassifier
from runner.models.family import Choice, Parameter, PathClassifier, Stop


@dataclass(frozen=True)
class Build:
    """Makes estimators of a class from outside; travels as the class's name.

    Attributes:
        origin: ``package.module:Class``.
        seeded: The parameters to hand the seed to.
        threaded: The parameters to hand the number of threads to, with their defaults.
        passes: Whether the class is a ``family.PathClassifier`` itself.
    """

    origin: str
    seeded: tuple[str, ...]
    threaded: tuple[tuple[str, int | None], ...]
    passes: bool

    def __call__(
        self, configuration: Mapping[str, Any], *, seed: int, threads: int
    ) -> PathClassifier:
        module, _, name = self.origin.partition(":")
        found = getattr(importlib.import_module(module), name)
        given = dict.fromkeys(self.seeded, seed)
        # What says the same as the default stays unsaid: some classes warn of the very mention.
        given |= {one: threads for one, default in self.threaded if (default or 1) != threads}
        made: PathClassifier = found(**configuration, **given)
        return made if self.passes else WholeFit(made, threads)


class WholeFit(BinaryPathClassifier):
    """A classifier that is fitted as a whole, on labels 0 and 1.

    Its score is its ``decision_function``, or without one its probability of the second class:
    whatever orders the rows.

    Args:
        estimator: The classifier; a copy of it is fitted.
        threads: Most threads of the numerical libraries that it uses.

    Attributes:
        estimator_: The fitted copy.
    """

    shared: ClassVar[tuple[str, ...]] = ()
    parameters: ClassVar[Mapping[str, Parameter | Choice]] = {}

    def __init__(self, estimator: Any, threads: int = 1):
        self.estimator = estimator
        self.threads = threads

    def _prepare(self, X: np.ndarray, positive: np.ndarray) -> Any:
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

        return X, positive.astype(np.int64), ThreadpoolController()

    def _train(self, rows: Any, stops: Sequence[Stop]) -> Iterator[None]:
        X, y, pools = rows
        estimator = clone(self.estimator, safe=False)
        with pools.limit(limits=self.threads):
            estimator.fit(X, y)
        self.estimator_ = estimator
        for _ in stops:
            yield None

    @property
    def has_margin(self) -> bool:
        """Whether 0 parts the classes: whether there is a ``decision_function``."""
        return hasattr(self.estimator_, "decision_function")

    def _margin(self, X: np.ndarray) -> np.ndarray:
        if not self.has_margin:
            return self._chances(X)[:, 1]
        margin = np.asarray(self.estimator_.decision_function(X), np.float64)
        if margin.shape != (len(X),):
            raise ValueError(f"{self._kind} gave scores of shape {margin.shape}, not ({len(X)},)")
        return margin

    def predict_proba(self, X: Any) -> np.ndarray:
        """Its probabilities of both classes, (rows, 2); else the logistic of its margin."""
        X = self._checked(X)
        if hasattr(self.estimator_, "predict_proba"):
            return self._chances(X)
        return super().predict_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        """Its labels, (rows,); else the likelier ones."""
        X = self._checked(X)
        if hasattr(self.estimator_, "predict"):
            codes = np.asarray(self.estimator_.predict(X)).astype(np.intp)
        else:
            codes = self.predict_proba(X).argmax(axis=1)
        labels: np.ndarray = self.classes_[codes]
        return labels

    def _chances(self, X: np.ndarray) -> np.ndarray:
        chances = np.asarray(self.estimator_.predict_proba(X), np.float64)
        if chances.shape != (len(X), 2):
            raise ValueError(
                f"{self._kind} gave probabilities of shape {chances.shape}, not ({len(X)}, 2)"
            )
        return chances

    def _checked(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        checked: np.ndarray = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return checked

    @property
    def _kind(self) -> str:
        return type(self.estimator_).__name__
