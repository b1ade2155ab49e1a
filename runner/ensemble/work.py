"""What one job of a simulation does inside its sandbox: open a metatask, run techniques, score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import numpy as np

from runner.ensemble.choice import Choice
from runner.ensemble.names import shortened
from runner.ensemble.original import Asked, initial_state
from runner.ensemble.original import simulate as simulate_original
from runner.ensemble.protocols import Run, halves, run, score, technique_seed
from runner.ensemble.technique import Answer, Oracle, Part
from runner.ensemble.transport import Place
from runner.metatask import Metatask
from runner.metrics import one_hot
from runner.sandbox import Report
from runner.timing import retime

FUNCTION = f"{__name__}:simulate"
CHAIN_FUNCTION = f"{__name__}:simulate_chain"
WARM_UP = f"{__name__}:warm_up"
RETIME_SECONDS = 2.0
"""A short fit isn't repeated for longer than this."""
PRELOAD = ("pyarrow.ipc", __name__)


@dataclass(frozen=True)
class Scoring:
    """How answers become records.

    Attributes:
        metric: What scores are.
        predictions: Whether to hand over the answers beside them.
    """

    metric: str
    predictions: bool


@dataclass(frozen=True)
class Case:
    """One technique on one fold of one metatask.

    Attributes:
        retime_within: A short fit is repeated for its time until the work is so many seconds old;
            None repeats none.
    """

    place: Place
    fold: int
    choice: Choice
    protocol: str
    seed: int
    scoring: Scoring
    retime_within: float | None = None


@dataclass(frozen=True)
class Chain:
    """Metatasks whose evaluations share one random state.

    Attributes:
        places: The metatasks, in the study's order.
        choices: The techniques.
        indices: By (metatask, fold, technique's name) the place of each wanted evaluation in the
            job; the others are run for what they do to the state.
        seed: The study's.
    """

    places: tuple[Place, ...]
    choices: tuple[Choice, ...]
    indices: Mapping[tuple[int, int, str], int]
    seed: int
    scoring: Scoring


def warm_up(argument: Case | Chain) -> None:
    """Pay for a technique's first call before the clock starts."""
    choices = argument.choices if isinstance(argument, Chain) else (argument.choice,)
    for choice in choices:
        _toy_run(choice)


def simulate(arrays: Mapping[str, np.ndarray], argument: Case, report: Report) -> None:
    """Fit one technique on one part of a fold and score it on another."""
    began = perf_counter()
    metatask = argument.place.opened(arrays)
    parts = halves(
        metatask,
        argument.fold,
        argument.protocol,
        seed=argument.seed,
        features=argument.choice.needs_features,
    )
    seed = technique_seed(argument.seed, metatask.name, argument.fold, argument.choice.name)
    technique = argument.choice.listing.make(argument.choice.given, seed)
    prepare_seconds = perf_counter() - began
    with naming_models(metatask):
        found = run(technique, parts.fit, parts.score)
    report.checkpoint(0)
    times = [found.fit_seconds]
    if argument.retime_within is not None and not isinstance(technique, Oracle):

        def again() -> float:
            made = argument.choice.listing.make(argument.choice.given, seed)
            return run(made, parts.fit, parts.score).fit_seconds

        # What learns nothing would be asked for ever.
        within = min(argument.retime_within, perf_counter() - began + RETIME_SECONDS)
        retime(again, times, began + within)
    _record(report, 0, argument.scoring, metatask, parts.rows, found, times, prepare_seconds)


def simulate_chain(arrays: Mapping[str, np.ndarray], argument: Chain, report: Report) -> None:
    """Run the original's program over all metatasks and report what is wanted of it."""
    began = perf_counter()
    done = 0.0
    for index, metatask, rows, found in _chained(arrays, argument):
        # Of the clock only this technique's own part is its evaluation's.
        own = found.fit_seconds + found.predict_seconds
        passed = perf_counter() - began - done
        report.spare(max(0.0, passed - own))
        report.checkpoint(index)
        scored = perf_counter()
        _record(report, index, argument.scoring, metatask, rows, found, [found.fit_seconds])
        done += perf_counter() - scored
        if index + 1 < len(argument.indices):
            # The next one's clock begins now.
            report.spare(max(0.0, perf_counter() - began - done))


def _chained(
    arrays: Mapping[str, np.ndarray], argument: Chain
) -> Iterator[tuple[int, Metatask, np.ndarray, Run]]:
    state = initial_state()
    last = max(number for number, _, _ in argument.indices)
    for number, place in enumerate(argument.places[: last + 1]):
        metatask = place.opened(arrays)
        wanted = {name for other, _, name in argument.indices if other == number}
        # What isn't asked for moves the state all the same.
        asked = [
            Asked(one.name, one.listing, one.given)
            for one in argument.choices
            if one.name in wanted
        ]
        with naming_models(metatask):
            for found in simulate_original(metatask, asked, state, argument.seed):
                index = argument.indices.get((number, found.fold, found.name))
                if index is not None:
                    yield index, metatask, found.rows, found.run


@contextmanager
def naming_models(metatask: Metatask) -> Iterator[None]:
    """Add to a library's refusal of NaN whose confidences hold it."""
    try:
        yield
    except ValueError as error:
        stored = (metatask.tested, *metatask.validation.values())
        finite = [np.isfinite(one.confidences).all(axis=(1, 2)) for one in stored]
        names = [
            model.name
            for model, fine in zip(metatask.models, np.all(finite, axis=0), strict=True)
            if not fine
        ]
        if not names:
            raise
        text = str(error).split("\n", 1)[0].rstrip(".")
        raise ValueError(
            f"{text}: confidences of {shortened(names)} aren't numbers; `runner metatask filter` "
            "drops such models"
        ) from error


def _record(
    report: Report,
    index: int,
    scoring: Scoring,
    metatask: Metatask,
    rows: np.ndarray,
    found: Run,
    times: Sequence[float],
    prepare_seconds: float | None = None,
) -> None:
    y = metatask.labels[rows]
    fields = {
        "score": score(scoring.metric, y, found.answer, len(metatask.classes)),
        "fit_seconds": median(times),
        "fit_seconds_min": min(times),
        "timed_fits": len(times),
        "predict_seconds": found.predict_seconds,
        "prepare_seconds": prepare_seconds,
    }
    kept = _predictions(found.answer, rows, metatask.classes) if scoring.predictions else None
    report.record(index, fields, kept)


def _predictions(
    answer: Answer, rows: np.ndarray, classes: tuple[str, ...]
) -> dict[str, np.ndarray]:
    names = np.array(classes)
    confidences = answer.confidences
    if confidences is None:
        confidences = one_hot(answer.predictions, len(classes))
    return {
        "row_ids": rows.astype(np.int32),
        "classes": names,
        "confidences": confidences.astype(np.float32),
        "labels": names[answer.predictions],
    }


def _toy_run(choice: Choice) -> None:
    """Run a technique on a few made rows; what fails on them may work on real ones."""
    random = np.random.default_rng(0)
    y = np.arange(12, dtype=np.int16) % 2
    confidences = random.dirichlet([1.0, 1.0], (2, 12))
    part = Part(confidences, confidences.argmax(axis=2).astype(np.int16), y, random.random((12, 2)))
    with suppress(Exception):
        run(choice.listing.make(choice.given), part, part)
