"""The techniques that a study chooses, found in the registry or in a user's module."""

from __future__ import annotations

from typing import Any

from runner.config import EnsembleStudy, TechniqueEntry
from runner.ensemble.choice import Choice
from runner.ensemble.outside import outside_listing
from runner.ensemble.protocols import PAPER, PROTOCOLS
from runner.ensemble.registry import PAPER_TECHNIQUES, TECHNIQUES, Listing, listed
from runner.errors import InputError, suggestion
from runner.metrics import METRICS

METRIC = "metric"
"""The parameter of techniques that optimise one: by default the study's."""


def choose(study: EnsembleStudy) -> tuple[Choice, ...]:
    """The study's techniques, those of the paper where it names none.

    Raises:
        InputError: There is no such technique, parameter, protocol or metric; with the study's
            file and line.
    """
    for key, value, valid in (
        ("protocol", study.protocol, PROTOCOLS),
        ("metric", study.metric, METRICS),
    ):
        if value not in valid:
            text = f"there is no {key} {value!r}: {suggestion(value, valid)}"
            raise study.problem(text, (key,))
    entries = study.techniques or [TechniqueEntry(name, name) for name in PAPER_TECHNIQUES]
    choices: dict[str, Choice] = {}
    for entry in entries:
        choice = _choice(entry, study)
        if choice.name in choices:
            raise study.problem(
                f"technique {choice.name!r} stands twice; give one another name", entry.place
            )
        choices[choice.name] = choice
    return tuple(choices.values())


def _choice(entry: TechniqueEntry, study: EnsembleStudy) -> Choice:
    try:
        if ":" in entry.technique:
            listing = outside_listing(entry.technique, study.folder)
        else:
            listing = listed(entry.technique)
    except InputError as error:
        raise study.problem(error.message, entry.place) from None
    # Who names a technique as `es` and nothing else means the one that is built in.
    name = listing.name if entry.name == entry.technique else entry.name
    if name in TECHNIQUES and name != listing.name:
        raise study.problem(
            f"{name!r} is a technique that is built in; give yours another `name`", entry.place
        )
    given = {**_chosen_metric(listing, study), **entry.parameters}
    changed = {
        key: value
        for key, value in given.items()
        if key not in listing.parameters or not _is(value, listing.parameters[key])
    }
    try:
        listing.make(changed)
    except InputError as error:
        raise study.problem(error.message, entry.parameters_place or entry.place) from None
    return Choice(name, listing, changed)


def _chosen_metric(listing: Listing, study: EnsembleStudy) -> dict[str, Any]:
    if study.protocol == PAPER or METRIC not in listing.parameters:
        return {}
    return {METRIC: study.metric}


def _is(value: Any, default: Any) -> bool:
    """Whether a value is the default, 1 and 1.0 and true being three."""
    return type(value) is type(default) and bool(value == default)
