"""Which configuration of a system is selected: one rule for the sweep and for its report."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Scored:
    """The result of one evaluation in cross-validation.

    Attributes:
        score: Higher is better; None unless the outcome is ok.
    """

    configuration_id: int
    fold: int
    outcome: str
    score: float | None
    repeat: int = 0


@dataclass(frozen=True)
class Selection:
    """The selected configuration.

    Attributes:
        mean: Of its scores over the folds; a fold's score is the mean over its repeats.
        deviation: Their sample standard deviation (ddof=1); None for a single fold.
    """

    configuration_id: int
    mean: float
    deviation: float | None


def select(rows: Iterable[Scored], folds: int, repeats: int = 1) -> Selection | None:
    """The configuration with the best mean score, among those whose folds are all ok.

    Args:
        rows: The evaluations of one system on one task, in any order, each
            (configuration_id, repeat, fold) at most once.
        folds: Folds planned for each configuration.
        repeats: Times that each fold was planned.

    Returns:
        The selection, the lower configuration_id among equal means; None where no configuration
        is complete.

    Raises:
        ValueError: A fold of a configuration is given twice.
    """
    summaries = summarise(rows, folds, repeats).values()
    return best(summary for summary in summaries if summary is not None)


def best(complete: Iterable[Selection]) -> Selection | None:
    """The one of the best mean, of the lower configuration_id among equal ones."""
    return min(complete, key=_rank, default=None)


def ranked(complete: Iterable[Selection]) -> list[Selection]:
    """All of them, :func:`best`'s first."""
    return sorted(complete, key=_rank)


def summarise(rows: Iterable[Scored], folds: int, repeats: int = 1) -> dict[int, Selection | None]:
    """Each configuration's mean and deviation by configuration_id; None where one isn't complete.

    Takes and raises what :func:`select` does.
    """
    scores: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    seen: set[tuple[int, int, int]] = set()
    for row in rows:
        place = (row.configuration_id, row.repeat, row.fold)
        if place in seen:
            raise ValueError(f"configuration, repeat, fold {place} is given twice")
        seen.add(place)
        found = scores[row.configuration_id]
        if row.outcome == "ok" and row.score is not None and math.isfinite(row.score):
            found[row.fold].append(row.score)
    return {
        configuration_id: from_folds(configuration_id, list(found.values()))
        if len(found) == folds and all(len(fold) == repeats for fold in found.values())
        else None
        for configuration_id, found in sorted(scores.items())
    }


def from_folds(configuration_id: int, folds: Iterable[Sequence[float]]) -> Selection:
    """A configuration with all its scores, given by fold."""
    scores = [mean_score(fold) for fold in folds]
    mean = mean_score(scores)
    if len(scores) == 1:
        return Selection(configuration_id, mean, None)
    squares = math.fsum((score - mean) ** 2 for score in scores)
    return Selection(configuration_id, mean, math.sqrt(squares / (len(scores) - 1)))


def _rank(selection: Selection) -> tuple[float, int]:
    return -selection.mean, selection.configuration_id


def mean_score(scores: Sequence[float]) -> float:
    """The mean of a fold's repeats, or of the folds."""
    # Equal ones exactly: a repeat changes nothing. fsum rounds once, so the order in which folds
    # ended can't decide between two configurations.
    first = scores[0]
    if len(scores) == 1:
        return first
    return first if scores.count(first) == len(scores) else math.fsum(scores) / len(scores)
