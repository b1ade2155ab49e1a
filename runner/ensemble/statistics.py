"""What can be said of techniques over several tasks: mean ranks and whether they differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.05
FEWEST_TASKS = 6
"""With fewer, no signed-rank test of two techniques can come out below 5 %: the least p of n tasks
is 2^(1-n)."""
_DIGITS = 12


@dataclass(frozen=True)
class Ranking:
    """Mean ranks over tasks, the best technique first, with the tests that go with them.

    Attributes:
        techniques: From the best mean rank to the worst.
        ranks: Theirs; 1 is the best.
        tasks: Those on which all techniques have a score.
        statistic: Friedman's chi-squared, corrected for ties; None for fewer than three
            techniques, as its p-value.
        p_value: That all techniques are equal.
        critical_difference: Nemenyi's: mean ranks that are less apart don't differ at 5 %.
        groups: The largest sets of neighbours, two at least, whose mean ranks don't differ.
    """

    techniques: tuple[str, ...]
    ranks: tuple[float, ...]
    tasks: int
    statistic: float | None
    p_value: float | None
    critical_difference: float
    groups: tuple[tuple[str, ...], ...]

    @property
    def differs(self) -> bool:
        """Whether Friedman's test says that the techniques aren't all equal."""
        return self.p_value is not None and self.p_value < LEVEL


def rank(scores: Mapping[str, Mapping[str, float]]) -> Ranking | None:
    """Techniques by their mean rank (Demsar 2006, section 3.2.2).

    Ties get mid-ranks. Only tasks count on which every technique has a score; None where there are
    fewer than two, or fewer than two techniques.

    Args:
        scores: By technique, by task; higher is better.
    """
    names = list(scores)
    tasks = [task for task in next(iter(scores.values()), {}) if _everywhere(scores, task)]
    if len(names) < 2 or len(tasks) < 2:
        return None
    # Means that are equal on paper are to tie here.
    table = np.array([[scores[name][task] for name in names] for task in tasks]).round(_DIGITS)
    means = _mean_ranks(table)
    order = sorted(range(len(names)), key=lambda place: (means[place], place))
    ordered = tuple(float(means[place]) for place in order)
    found = tuple(names[place] for place in order)
    difference = critical_difference(len(names), len(tasks))
    statistic, p_value = _friedman(table)
    return Ranking(
        techniques=found,
        ranks=ordered,
        tasks=len(tasks),
        statistic=statistic,
        p_value=p_value,
        critical_difference=difference,
        groups=tuple(
            found[first:end] for first, end in _groups(ordered, difference) if end - first > 1
        ),
    )


def critical_difference(techniques: int, tasks: int, level: float = LEVEL) -> float:
    """Nemenyi's: q sqrt(k (k + 1) / (6 N)) (Demsar 2006, section 3.2.2).

    q is the studentized range's quantile for k groups and infinitely many degrees of freedom,
    divided by the square root of 2.
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - level, techniques, np.inf)) / math.sqrt(2)
    return q * math.sqrt(techniques * (techniques + 1) / (6 * tasks))


def _everywhere(scores: Mapping[str, Mapping[str, float]], task: str) -> bool:
    return all(task in by_task for by_task in scores.values())


def _mean_ranks(table: np.ndarray) -> np.ndarray:
    from scipy.stats import rankdata

    return np.asarray(rankdata(-table, axis=1).mean(axis=0))


def _friedman(table: np.ndarray) -> tuple[float | None, float | None]:
    from scipy.stats import friedmanchisquare

    if table.shape[1] < 3:
        return None, None
    if (table == table[:, :1]).all():
        # All tied: the statistic would be 0 / 0.
        return 0.0, 1.0
    found = friedmanchisquare(*table.T)
    return float(found.statistic), float(found.pvalue)


def _groups(ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """The longest runs of ascending ranks that span less than the difference, none in another."""
    found: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        end = first + 1
        while end < len(ranks) and ranks[end] - ranks[first] < difference:
            end += 1
        if not found or end > found[-1][1]:
            found.append((first, end))
    return found
