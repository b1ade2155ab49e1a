"""Which rows a technique learns from, which it is scored on, and what its randomness comes from."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass

import numpy as np

from runner.ensemble.features import encode
from runner.ensemble.technique import Answer, Oracle, Part, Technique
from runner.errors import InputError
from runner.metatask.metatask import Metatask, Stored
from runner.metrics import METRICS, one_hot

CORRECTED, PAPER, VALIDATION = "corrected", "paper", "validation"
PROTOCOLS = (CORRECTED, PAPER, VALIDATION)
PROTOCOL_VERSION = 1
"""Goes up whenever a protocol's rows, seeds or encoded features change."""

_Places = tuple[Stored, np.ndarray]
"""Some predictions, and which of them."""


@dataclass(frozen=True)
class Halves:
    """What a technique is fitted on and what it is scored on.

    Attributes:
        fit: The rows to learn from.
        score: The rows to answer for.
        rows: (rows,), where the latter stand in the task's table.
    """

    fit: Part
    score: Part
    rows: np.ndarray


@dataclass(frozen=True)
class Run:
    """One technique, fitted and asked.

    Attributes:
        answer: What it says.
        fit_seconds: The clock of fitting; 0 for an oracle, which has nothing to learn.
        predict_seconds: The clock of answering.
    """

    answer: Answer
    fit_seconds: float
    predict_seconds: float


def halves(
    metatask: Metatask, fold: int, protocol: str, *, seed: int = 0, features: bool = False
) -> Halves:
    """The two parts of a fold, rows in the task's order.

    ``corrected`` parts the fold's tested rows into two random halves, each class as evenly as can
    be; all techniques get the same ones. ``validation`` fits on what the models predicted of the
    fold's training rows, and scores on all tested rows.

    Args:
        metatask: The metatask.
        fold: One of its folds.
        protocol: ``corrected`` or ``validation``; ``paper`` has an order of its own
            (``runner.ensemble.original``).
        seed: The study's.
        features: Whether the parts hold the task's features, encoded by what the first has.

    Raises:
        InputError: The metatask stores no validation predictions of the fold, or a part lacks rows
            of two classes.
    """
    return _halves(metatask, fold, *_places(metatask, fold, protocol, seed), features)


def _places(metatask: Metatask, fold: int, protocol: str, seed: int) -> tuple[_Places, _Places]:
    """What a fold's two parts are made of."""
    tested = np.flatnonzero(metatask.folds[metatask.tested.rows] == fold)
    if protocol == VALIDATION:
        learnt = metatask.validation.get(fold)
        if learnt is None:
            raise InputError(
                f"metatask {metatask.name} has no validation predictions of fold {fold}"
            )
        return (learnt, np.arange(len(learnt.rows))), (metatask.tested, tested)
    if protocol == CORRECTED:
        y = metatask.labels[metatask.tested.rows[tested]]
        into_first = stratified_half(y, seed_of(seed, metatask.name, fold))
        return (metatask.tested, tested[into_first]), (metatask.tested, tested[~into_first])
    raise ValueError(f"protocol {protocol!r} has no halves of its own")


def unscorable_folds(metatask: Metatask, protocol: str, seed: int = 0) -> tuple[int, ...]:
    """The folds of which a part would lack rows of two classes, such as those of leave-one-out.

    Args:
        metatask: The metatask; under ``validation`` it has all validation predictions.
        protocol: Any of ``PROTOCOLS``.
        seed: The study's.
    """
    return tuple(
        fold for fold in metatask.fold_numbers if not _is_scorable(metatask, fold, protocol, seed)
    )


def _is_scorable(metatask: Metatask, fold: int, protocol: str, seed: int) -> bool:
    if protocol == PAPER:
        # scikit-learn's split wants two rows of each class that is there.
        rows = metatask.tested.rows
        _, counts = np.unique(
            metatask.labels[rows[metatask.folds[rows] == fold]], return_counts=True
        )
        return len(counts) >= 2 and bool(counts.min() >= 2)
    return all(
        len(np.unique(metatask.labels[stored.rows[places]])) >= 2
        for stored, places in _places(metatask, fold, protocol, seed)
    )


def stratified_half(y: np.ndarray, seed: int) -> np.ndarray:
    """A random half of the rows, of each class as evenly as can be.

    A class of an odd number of rows gives the row in the middle to the half that is behind, the
    first one to begin with.

    Args:
        y: (rows,), classes.
        seed: Determines it together with ``y``.

    Returns:
        (rows,) bool, whether a row is in the first half.
    """
    random = np.random.default_rng(seed)
    first = np.zeros(len(y), dtype=bool)
    ahead = False
    for one in np.unique(y):
        rows = random.permutation(np.flatnonzero(y == one))
        size = len(rows) // 2
        if len(rows) % 2:
            size += not ahead
            ahead = not ahead
        first[rows[:size]] = True
    return first


def seed_of(*parts: str | int) -> int:
    """A seed below 2^32 that is the same wherever the same words and numbers are given."""
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return int.from_bytes(digest[:4], "little")


def technique_seed(seed: int, task: str, fold: int, technique: str) -> int:
    """The seed of a technique on a fold, whatever else runs before it."""
    return seed_of(seed, task, fold, technique)


def run(technique: Technique | Oracle, fit: Part, score: Part) -> Run:
    """Fit a technique on one part and ask it about the other, each against the clock.

    What learns is never asked as an oracle, even if it could answer as one.
    """
    start = time.perf_counter()
    if not isinstance(technique, Technique):
        answer = technique.answer(score)
        return Run(answer, 0.0, time.perf_counter() - start)
    technique.fit(fit.confidences, fit.predictions, fit.y, fit.X)
    fitted = time.perf_counter()
    said = technique.predict(score.confidences, score.predictions, score.X)
    answered = time.perf_counter()
    rows, classes = score.confidences.shape[1:]
    return Run(answer_of(said, rows, classes), fitted - start, answered - fitted)


def answer_of(said: np.ndarray | Answer, rows: int, classes: int) -> Answer:
    """What a technique returned, as an answer.

    Raises:
        ValueError: It has another shape, or holds what is no class.
    """
    if isinstance(said, Answer):
        return said
    said = np.asarray(said)
    if said.shape == (rows, classes):
        return Answer(said.argmax(axis=1).astype(np.int16), said)
    if said.shape != (rows,):
        raise ValueError(
            f"a technique must return {rows} classes or {rows} x {classes} confidences, not an "
            f"array of shape {said.shape}"
        )
    if not np.isin(said, np.arange(classes)).all():
        raise ValueError(f"a technique must return classes as positions from 0 to {classes - 1}")
    return Answer(said.astype(np.int16))


def score(metric: str, y: np.ndarray, answer: Answer, classes: int) -> float:
    """What an answer scores; where it knows only classes, these count as sure.

    Args:
        metric: Of ``runner.metrics.METRICS``.
        y: (rows,), the true classes.
        answer: Of these rows.
        classes: How many there are.
    """
    confidences = answer.confidences
    if confidences is None:
        confidences = one_hot(answer.predictions, classes)
    return METRICS[metric].score(y, answer.predictions, confidences)


def _halves(
    metatask: Metatask,
    fold: int,
    first: _Places,
    second: _Places,
    features: bool,
) -> Halves:
    one, other = (stored.rows[places] for stored, places in (first, second))
    for rows in (one, other):
        if len(np.unique(metatask.labels[rows])) < 2:
            raise InputError(
                f"metatask {metatask.name}, fold {fold}: {len(rows)} rows of fewer than two "
                "classes are too few to fit or score on"
            )
    X_one: np.ndarray | None = None
    X_other: np.ndarray | None = None
    if features:
        X_one, X_other = encode(metatask.features, metatask.categorical, one, other)
    return Halves(part(metatask, *first, X_one), part(metatask, *second, X_other), other)


def part(
    metatask: Metatask, stored: Stored, places: np.ndarray, X: np.ndarray | None = None
) -> Part:
    """Rows of stored predictions, copied, in the order of ``places`` among them."""
    return Part(
        stored.confidences[:, places],
        stored.predictions[:, places],
        metatask.labels[stored.rows[places]],
        X,
    )
