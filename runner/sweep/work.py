"""What one job of a sweep does inside its sandbox: prepare a fold, fit once, score on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from runner.data import prepare
from runner.metrics import auc
from runner.models import family
from runner.sandbox import Report

FUNCTION = f"{__name__}:fit"
WARM_UP = f"{__name__}:warm_up"
PRELOAD = ("runner.sweep.work", "sklearn.preprocessing", "lightgbm")


@dataclass(frozen=True)
class Fit:
    """One fit and the configurations it serves.

    Attributes:
        system: The family's name.
        configurations: In the order in which the fit passes them; they differ at most in the
            family's shared parameter.
        fold: The fold held out; None fits on all training rows and scores on the test rows.
        classes: The names of the negative and the positive class.
        predictions: Whether to hand over the predictions beside the score.
    """

    system: str
    configurations: tuple[Mapping[str, Any], ...]
    fold: int | None
    seed: int
    threads: int
    classes: tuple[str, str]
    predictions: bool


def warm_up(argument: Fit) -> None:
    """Pay for first calls before the clock starts."""
    family(argument.system).warm_up(argument.configurations[-1], argument.threads)


def fit(arrays: Mapping[str, np.ndarray], argument: Fit, report: Report) -> None:
    """Fit once; at each configuration's checkpoint stop the clock, score and report.

    Args:
        arrays: A task's plain-array form (``runner.data.arrays``).
    """
    started = perf_counter()
    data = prepare(arrays, argument.fold, argument.seed)
    model = family(argument.system)
    estimator = model.estimator(
        argument.configurations[-1], seed=argument.seed, threads=argument.threads
    )
    prepared = estimator.prepare(data.X_train, data.y_train)
    prepare_seconds = perf_counter() - started

    path = estimator.path(
        prepared,
        [configuration.get(model.shared or "") for configuration in argument.configurations],
    )
    fit_seconds = 0.0
    for index in range(len(argument.configurations)):
        started = perf_counter()
        next(path)
        fit_seconds += perf_counter() - started
        report.checkpoint(index)

        started = perf_counter()
        margin = estimator.decision_function(data.X_test)
        predict_seconds = perf_counter() - started
        fields = {
            "score": auc(data.y_test, margin),
            "fit_seconds": fit_seconds,
            "predict_seconds": predict_seconds,
            "prepare_seconds": prepare_seconds,
            "timed_fits": 1,
        }
        predictions = None
        if argument.predictions:
            predictions = _predictions(
                estimator.predict_proba(data.X_test), data.test_rows, argument.classes
            )
        report.record(index, fields, predictions)


def _predictions(
    confidences: np.ndarray, rows: np.ndarray, classes: tuple[str, str]
) -> dict[str, np.ndarray]:
    names = np.array(classes)
    return {
        "row_ids": rows.astype(np.int32),
        "classes": names,
        "confidences": confidences.astype(np.float32),
        "labels": names[confidences.argmax(axis=1)],
    }
