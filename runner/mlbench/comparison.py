"""Paired comparisons of systems, over tasks and over folds, with many of them made at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from runner.mlbench import intervals
from runner.mlbench.intervals import LEVEL, Estimate
from runner.mlbench.study import Study

_EXACT_SIGNS = 13


@dataclass(frozen=True)
class Comparison:
    """Two systems, set side by side on the same cases.

    Attributes:
        task: The task whose folds are the cases; None where the tasks are.
        difference: Mean AUC of ``one`` minus ``other``, with its interval.
        wins: Cases in which ``one`` has the greater AUC.
        p_value: Two-sided.
        adjusted: The same, adjusted for all comparisons that were made with it.
        least_p: The smallest p-value that so many cases could have given; None where there is no
            such bound.
    """

    one: str
    other: str
    task: str | None
    difference: Estimate
    wins: int
    ties: int
    losses: int
    p_value: float
    least_p: float | None
    adjusted: float = math.nan


def compare_over_tasks(study: Study, *, seed: int = 0) -> tuple[Comparison, ...]:
    """Each pair of systems over the tasks on which both have a test AUC.

    Wilcoxon's signed-rank test (Demšar 2006 for systems over data sets), exact up to thirteen tasks
    that differ. It takes the tasks as independent. Pairs with fewer than two tasks in common are
    left out.
    """
    found = []
    for one, other in itertools.combinations([system.name for system in study.systems], 2):
        differences = _test_differences(study, one, other)
        if len(differences) >= 2:
            found.append(_over_tasks(one, other, differences, seed))
    return adjust(found)


def compare_scores(
    scores: Mapping[str, Mapping[str, float]], *, seed: int = 0
) -> tuple[Comparison, ...]:
    """Each pair of systems over the tasks on which both have a score, as `compare_over_tasks`.

    Args:
        scores: By system, by task.
        seed: Of the resampling.
    """
    found = []
    for one, other in itertools.combinations(scores, 2):
        both = [task for task in scores[one] if task in scores[other]]
        if len(both) >= 2:
            left, right = ([scores[name][task] for task in both] for name in (one, other))
            found.append(_over_tasks(one, other, _differences(left, right), seed))
    return adjust(found)


def compare_over_folds(study: Study) -> tuple[Comparison, ...]:
    """Each pair of systems on each task, over the folds of cross-validation.

    A t-test whose variance is corrected for the training rows that folds share (Nadeau and Bengio
    2003). The AUCs are those of the selected configurations, which were selected by them: a system
    with a larger grid is flattered.
    """
    found = []
    for task in study.tasks:
        for one, other in itertools.combinations([system.name for system in study.systems], 2):
            left, right = study.result(task.name, one), study.result(task.name, other)
            if len(left.fold_aucs) == len(right.fold_aucs) >= 2:
                differences = _differences(left.fold_aucs, right.fold_aucs)
                found.append(_over_folds(one, other, task.name, differences))
    return adjust(found)


def adjust(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The comparisons with p-values adjusted for their number.

    Calling those below q significant has a false discovery rate of q at most: Benjamini and
    Yekutieli (2001), however the comparisons depend on one another, as those of one system do.
    """
    adjusted = _adjusted([one.p_value for one in comparisons])
    return tuple(
        replace(one, adjusted=value) for one, value in zip(comparisons, adjusted, strict=True)
    )


def least_adjusted(comparisons: Sequence[Comparison]) -> float:
    """The smallest adjusted p-value that could have come out, had all differences one sign."""
    return min(_adjusted([one.least_p or 0.0 for one in comparisons]), default=1.0)


def _adjusted(p_values: Sequence[float]) -> list[float]:
    from scipy.stats import false_discovery_control

    if not p_values:
        return []
    return [float(value) for value in false_discovery_control(p_values, method="by")]


def _test_differences(study: Study, one: str, other: str) -> list[float]:
    pairs = [(study.result(t.name, one).auc, study.result(t.name, other).auc) for t in study.tasks]
    known = [(left, right) for left, right in pairs if left is not None and right is not None]
    return _differences([left for left, _ in known], [right for _, right in known])


def _differences(left: Sequence[float], right: Sequence[float]) -> list[float]:
    # Differences of printed AUCs that are equal on paper are to be equal here: they are ranked.
    return [round(one - other, 12) for one, other in zip(left, right, strict=True)]


def _over_tasks(one: str, other: str, differences: Sequence[float], seed: int) -> Comparison:
    decided = sum(difference != 0 for difference in differences)
    return Comparison(
        one=one,
        other=other,
        task=None,
        difference=intervals.mean(differences, seed=seed),
        **_counts(differences),
        p_value=_signed_rank(differences, seed),
        least_p=min(1.0, 2.0 ** (1 - decided)),
    )


def _over_folds(one: str, other: str, task: str, differences: Sequence[float]) -> Comparison:
    estimate, p_value = corrected_t(differences)
    return Comparison(
        one=one,
        other=other,
        task=task,
        difference=estimate,
        **_counts(differences),
        p_value=p_value,
        least_p=None,
    )


def corrected_t(differences: Sequence[float]) -> tuple[Estimate, float]:
    """The mean of the folds' differences with its interval, and its p-value.

    A t-test in which the variance of the mean is (1/k + 1/(k - 1)) s^2 for k folds, since each is
    tested on one part and trained on k - 1 (Nadeau and Bengio 2003, the corrected resampled t-test
    with n2/n1 = 1/(k - 1)).

    Args:
        differences: One for each fold, two at least.
    """
    from scipy.stats import t

    k = len(differences)
    mean = math.fsum(differences) / k
    spread = float(np.std(differences, ddof=1)) * math.sqrt(1 / k + 1 / (k - 1))
    reach = float(t.ppf((1 + LEVEL) / 2, k - 1)) * spread
    if spread == 0:
        p_value = 1.0 if mean == 0 else 0.0
    else:
        p_value = float(2 * t.sf(abs(mean) / spread, k - 1))
    return Estimate(mean, mean - reach, mean + reach, k), p_value


def _signed_rank(differences: Sequence[float], seed: int) -> float:
    from scipy.stats import permutation_test, rankdata

    decided = [difference for difference in differences if difference]
    if len(decided) < 2:
        # Either sign of a single difference is as extreme as the other.
        return 1.0
    ranks = rankdata(np.abs(decided))

    def statistic(signed: np.ndarray, axis: int) -> np.ndarray:
        total: np.ndarray = ((signed > 0) * ranks).sum(axis=axis)
        return total

    # Every assignment of signs while they can be listed: the usual tables know no ties.
    found = permutation_test(
        (decided,),
        statistic,
        permutation_type="samples",
        vectorized=True,
        n_resamples=2 ** min(len(decided), _EXACT_SIGNS),
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def _counts(differences: Sequence[float]) -> dict[str, int]:
    return {
        "wins": sum(difference > 0 for difference in differences),
        "ties": sum(difference == 0 for difference in differences),
        "losses": sum(difference < 0 for difference in differences),
    }
