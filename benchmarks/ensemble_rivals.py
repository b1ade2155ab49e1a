"""Ensemble selection as others do it: ``PYTHON ensemble_rivals.py HOW FILE``.

Runs under the interpreter of an environment that has the peer, so nothing of this project is
imported. FILE is an npz archive with ``confidences`` (models, rows, classes) and ``y`` (rows,);
prints one JSON document: ``seconds``, the least CPU seconds of a selection, and ``order``, the
models in the order they were added.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

ITERATIONS = 50
REPEATS = 3
ENOUGH = 4.0
"""Seconds after which nothing is repeated."""


def main() -> None:
    how, file = sys.argv[1:]
    with np.load(file) as stored:
        confidences, y = stored["confidences"], stored["y"]
    selection = HOWS[how](confidences, y)
    seconds: list[float] = []
    order: list[int] = []
    while len(seconds) < REPEATS and sum(seconds) < ENOUGH:
        start = time.process_time()
        order = selection()
        seconds.append(time.process_time() - start)
    print(json.dumps({"seconds": min(seconds), "order": order}))


def plain_loop(confidences: np.ndarray, y: np.ndarray) -> Callable[[], list[int]]:
    """The algorithm as auto-sklearn, and phem after it, write it, with scikit-learn's AUC."""
    auc = _auc(confidences.shape[2])
    true = _indicator(y, confidences.shape[2])

    def select() -> list[int]:
        total = np.zeros(confidences.shape[1:])
        mean = np.empty_like(total)
        order: list[int] = []
        for size in range(1, ITERATIONS + 1):
            scores = np.empty(len(confidences))
            for model, one in enumerate(confidences):
                np.add(total, one, out=mean)
                np.multiply(mean, 1.0 / size, out=mean)
                scores[model] = auc(true, mean)
            order.append(int(scores.argmax()))
            total += confidences[order[-1]]
        return order

    return select


def amltk(confidences: np.ndarray, y: np.ndarray) -> Callable[[], list[int]]:
    """AMLTK's ``weighted_ensemble_caruana`` with scikit-learn's AUC."""
    from amltk.ensembling.weighted_ensemble_caruana import (  # type: ignore[import-not-found]
        weighted_ensemble_caruana,
    )

    auc = _auc(confidences.shape[2])
    true = _indicator(y, confidences.shape[2])
    models = {str(model): one.astype(np.float64) for model, one in enumerate(confidences)}

    def select() -> list[int]:
        _, trajectory, _ = weighted_ensemble_caruana(
            model_predictions=models,
            targets=true,
            size=ITERATIONS,
            metric=auc,
            select=max,
            seed=0,
        )
        return [int(model) for model, _ in trajectory]

    return select


def tabarena(confidences: np.ndarray, y: np.ndarray) -> Callable[[], list[int]]:
    """AutoGluon's selection as TabArena runs it, with its AUC in C++ for two classes."""
    from autogluon.core.metrics import get_metric  # type: ignore[import-not-found]
    from autogluon.core.models.greedy_ensemble import (  # type: ignore[import-not-found]
        ensemble_selection,
    )

    binary = confidences.shape[2] == 2
    metric: Any
    if binary:
        from tabarena.metrics._fast_roc_auc import (  # type: ignore[import-not-found]
            fast_roc_auc_cpp,
        )

        metric = fast_roc_auc_cpp
        labels: np.ndarray = y == 1
        predictions = [one[:, 1].astype(np.float32) for one in confidences]
    else:
        metric = get_metric("roc_auc_ovr_weighted")
        labels = y
        predictions = [one.astype(np.float64) for one in confidences]

    def select() -> list[int]:
        made = ensemble_selection.EnsembleSelection(
            ensemble_size=ITERATIONS,
            problem_type="binary" if binary else "multiclass",
            metric=metric,
            random_state=np.random.RandomState(0),
        )
        made.use_best = False
        made.fit(predictions, labels)
        return [int(model) for model in made.indices_]

    return select


def _auc(classes: int) -> Callable[[np.ndarray, np.ndarray], float]:
    from sklearn.metrics import roc_auc_score

    def score(true: np.ndarray, mean: np.ndarray) -> float:
        shares = mean[:, 1] if classes == 2 else mean
        return float(roc_auc_score(true, shares, average="weighted", multi_class="ovr"))

    return score


def _indicator(y: np.ndarray, classes: int) -> np.ndarray:
    return y if classes == 2 else np.eye(classes, dtype=np.int64)[y]


HOWS = {"loop": plain_loop, "amltk": amltk, "tabarena": tabarena}

if __name__ == "__main__":
    main()
