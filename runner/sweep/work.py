"""What one job of a sweep does inside its sandbox: prepare a fold, fit once, score on the way."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from runner.data import UNLABELLED, prepare
from runner.metrics import auc
from runner.models import Family, PathClassifier, Stop
from runner.models.family import Spent
from runner.sandbox import Report
from runner.timing import retime

FUNCTION = f"{__name__}:fit"
WARM_UP = f"{__name__}:warm_up"

PRELOAD = ("sklearn.preprocessing", f"{__name__}:first_calls")


@dataclass(frozen=True)
class Fit:
    """One fit and the configurations it serves.

    Attributes:
        family: The model family, as it travels.
        configurations: In the order in which the fit passes them; they differ at most in the
            family's shared parameters.
        fold: The fold held out; None fits on all training rows and scores on the test rows.
        classes: The names of the negative and the positive class.
        predictions: Whether to hand over the predictions beside the score.
        retime_within: Short fits are repeated for their time until the work is so many seconds
            old; None repeats none.
    """

    family: Family
    configurations: tuple[Mapping[str, Any], ...]
    fold: int | None
    seed: int
    threads: int
    classes: tuple[str, str]
    predictions: bool
    retime_within: float | None = None


def first_calls() -> None:
    """Pay once, before any child is forked, for what scikit-learn looks up at its first call.

    It asks all installed packages for plug-ins that know other data frames: 10 ms a process.
    """
    from sklearn.base import BaseEstimator
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import validate_data

    X, y = np.zeros((2, 1)), np.arange(2)
    validate_data(BaseEstimator(), X, y)
    check_classification_targets(y)


def warm_up(argument: Fit) -> None:
    """Pay for first calls before the clock starts."""
    # What fails on toy data may work on the task's, and otherwise its row will tell.
    with suppress(Exception):
        argument.family.warm_up(argument.configurations[-1], argument.threads)


def fit(arrays: Mapping[str, np.ndarray], argument: Fit, report: Report) -> None:
    """Fit once; at each configuration's checkpoint stop the clock, score and report.

    Test rows without labels have no score; their predictions are reported instead.

    Args:
        arrays: A task's plain-array form (``runner.data.arrays``).
    """
    began = perf_counter()
    data = prepare(arrays, argument.fold, argument.seed)
    estimator = _estimator(argument)
    prepared = estimator.prepare(data.X_train, data.y_train)
    prepare_seconds = perf_counter() - began

    stops = [argument.family.stop(values) for values in argument.configurations]
    spent = 0.0
    with closing(_following(estimator, prepared, stops)) as path:
        for index in range(len(stops)):
            started = perf_counter()
            own = next(path)
            spent += perf_counter() - started
            if own is not None:
                report.spare(max(0.0, spent - own.own))
            report.checkpoint(index)

            times = [spent if own is None else own.own]
            if argument.retime_within is not None:
                until = began + argument.retime_within
                retime(partial(_seconds_alone, argument, prepared, stops[index]), times, until)
            started = perf_counter()
            margin = estimator.decision_function(data.X_test)
            predict_seconds = perf_counter() - started
            labelled = data.y_test[0] != UNLABELLED
            fields = {
                "score": auc(data.y_test, margin) if labelled else None,
                "fit_seconds": median(times),
                "fit_seconds_min": min(times),
                "timed_fits": len(times),
                "predict_seconds": predict_seconds,
                "prepare_seconds": prepare_seconds,
            }
            predictions: dict[str, np.ndarray] = {}
            if argument.predictions or not labelled:
                predictions = _predictions(
                    estimator.predict_proba(data.X_test), data.test_rows, argument.classes
                )
            if not labelled:
                # Probabilities may round to 1 and tie where the score doesn't.
                predictions["scores"] = _ordering(margin)
            report.record(index, fields, predictions or None)
            if own is not None and index + 1 < len(stops):
                report.spare(max(0.0, spent - own.ahead))


def _following(
    estimator: PathClassifier, prepared: Any, stops: Sequence[Stop]
) -> Generator[Spent | None, None, None]:
    """The estimator's path as a generator: closed, it closes one that waits at its last stop."""
    yield from estimator.path(prepared, stops)


def _seconds_alone(argument: Fit, prepared: Any, stop: Stop) -> float:
    """The time of another fit, of one stop's model alone."""
    path = _estimator(argument).path(prepared, [stop])
    started = perf_counter()
    for _ in path:
        pass
    return perf_counter() - started


def _estimator(argument: Fit) -> PathClassifier:
    return argument.family.estimator(
        argument.configurations[-1], seed=argument.seed, threads=argument.threads
    )


def _ordering(margin: np.ndarray) -> np.ndarray:
    """Scores that can order rows, as those of labelled rows must, too."""
    if np.isnan(margin).any():
        raise ValueError("a score is NaN")
    return margin


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
