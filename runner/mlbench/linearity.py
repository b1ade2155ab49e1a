"""Linear against non-linear systems by data size, and mlbench's Observation 1."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runner.mlbench import intervals
from runner.mlbench.intervals import Estimate
from runner.mlbench.study import Result, Study

SMALL_ROWS = 10_000
"""Below it a data set is small: the paper (section 5.3) counts D-EG's 7,395 rows as small and
D-VP's 10,506 as large."""
_EXACT_PAIRINGS = 8


@dataclass(frozen=True)
class Contrast:
    """The best linear and the best non-linear system on one task.

    Attributes:
        linear: All that are tied, by rank where there are ranks.
        better: ``linear``, ``nonlinear`` or ``tie``, by rank where there are ranks.
    """

    task: str
    rows: int
    linear: tuple[str, ...]
    nonlinear: tuple[str, ...]
    linear_auc: float
    nonlinear_auc: float
    better: str

    @property
    def difference(self) -> float:
        """AUC of the best non-linear system minus that of the best linear one."""
        return round(self.nonlinear_auc - self.linear_auc, 12)


@dataclass(frozen=True)
class SizeEffect:
    """How the difference between non-linear and linear depends on data size.

    Attributes:
        slope: Of the difference in AUC, for ten times the rows.
        correlation: Spearman's, of difference and rows.
        p_value: Of the correlation, two-sided, by permuting the tasks.
        crossing: Rows at which the fitted line is zero; None where it doesn't rise.
    """

    slope: Estimate
    correlation: float
    p_value: float
    crossing: float | None


@dataclass(frozen=True)
class Advice:
    """Observation 1 on one task.

    Attributes:
        advised: ``linear`` where the data set is small, else ``nonlinear``.
        holds: Whether that is the better kind; None for a tie.
        loss: AUC lost with the best system of the advised kind against the better kind's.
    """

    task: str
    rows: int
    advised: str
    better: str
    holds: bool | None
    loss: float


@dataclass(frozen=True)
class Observation1:
    """ "Use a linear model if the dataset is small and a nonlinear model otherwise", tested.

    Attributes:
        p_value: Of the sign test against a coin, one-sided, ties left out.
        loss: The mean AUC that following it loses.
        always_linear: The same for taking a linear system always.
        always_nonlinear: The same for never taking one.
    """

    small_rows: int
    tasks: tuple[Advice, ...]
    p_value: float
    loss: Estimate
    always_linear: Estimate
    always_nonlinear: Estimate

    def count(self, holds: bool | None) -> int:
        """On how many tasks it holds (True), fails (False) or nothing is better (None)."""
        return sum(advice.holds is holds for advice in self.tasks)


def contrasts(study: Study) -> tuple[Contrast, ...]:
    """The tasks of known size on which both kinds have a test AUC, smallest first."""
    linear = [system.name for system in study.systems if system.linear is True]
    nonlinear = [system.name for system in study.systems if system.linear is False]
    found = []
    for task in study.by_size():
        one, other = study.best(linear, task.name), study.best(nonlinear, task.name)
        if task.rows is not None and (contrast := _contrast(task.rows, one, other)) is not None:
            found.append(contrast)
    return tuple(found)


def size_effect(found: Sequence[Contrast], *, seed: int = 0) -> SizeEffect | None:
    """How the difference depends on size; None for fewer than three tasks or one size alone.

    A line is fitted to the differences over the logarithm of the rows. The tasks count as
    independent draws of those one might meet.
    """
    rows = [contrast.rows for contrast in found]
    if len(found) < 3 or len(set(rows)) < 2:
        return None
    tens = [math.log10(count) for count in rows]
    differences = [contrast.difference for contrast in found]
    slope = intervals.slope(tens, differences, seed=seed)
    correlation, p_value = _spearman(tens, differences, seed)
    crossing = None
    if slope.value > 0:
        crossing = 10 ** (statistics.fmean(tens) - statistics.fmean(differences) / slope.value)
    return SizeEffect(slope, correlation, p_value, crossing)


def observation1(
    found: Sequence[Contrast], *, small_rows: int = SMALL_ROWS, seed: int = 0
) -> Observation1 | None:
    """Tests Observation 1 on a study's tasks; None where there is no task to test it on.

    Args:
        found: The tasks.
        small_rows: Data sets of fewer training rows are small.
        seed: Of the intervals.
    """
    if not found:
        return None
    tasks = tuple(_advice(contrast, small_rows) for contrast in found)
    holds = sum(advice.holds is True for advice in tasks)
    decided = sum(advice.holds is not None for advice in tasks)
    return Observation1(
        small_rows=small_rows,
        tasks=tasks,
        p_value=_sign_test(holds, decided),
        loss=intervals.mean([advice.loss for advice in tasks], seed=seed),
        always_linear=intervals.mean([_loss(one, "linear") for one in found], seed=seed),
        always_nonlinear=intervals.mean([_loss(one, "nonlinear") for one in found], seed=seed),
    )


def _contrast(rows: int, linear: Sequence[Result], nonlinear: Sequence[Result]) -> Contrast | None:
    aucs, others = _aucs(linear), _aucs(nonlinear)
    if not aucs or not others:
        return None
    return Contrast(
        task=linear[0].task,
        rows=rows,
        linear=tuple(result.system for result in linear),
        nonlinear=tuple(result.system for result in nonlinear),
        linear_auc=max(aucs),
        nonlinear_auc=max(others),
        better=_better(_merit(linear[0], max(aucs)), _merit(nonlinear[0], max(others))),
    )


def _aucs(results: Sequence[Result]) -> list[float]:
    return [result.auc for result in results if result.auc is not None]


def _merit(result: Result, auc: float) -> float:
    # Printed AUCs are rounded, ranks aren't.
    return auc if result.rank is None else -float(result.rank)


def _better(linear: float, nonlinear: float) -> str:
    if linear == nonlinear:
        return "tie"
    return "linear" if linear > nonlinear else "nonlinear"


def _advice(contrast: Contrast, small_rows: int) -> Advice:
    advised = "linear" if contrast.rows < small_rows else "nonlinear"
    holds = None if contrast.better == "tie" else contrast.better == advised
    return Advice(
        contrast.task, contrast.rows, advised, contrast.better, holds, _loss(contrast, advised)
    )


def _loss(contrast: Contrast, kind: str) -> float:
    ahead = contrast.difference if kind == "linear" else -contrast.difference
    return max(ahead, 0.0)


def _sign_test(holds: int, decided: int) -> float:
    from scipy.stats import binomtest

    return float(binomtest(holds, decided, alternative="greater").pvalue) if decided else 1.0


def _spearman(x: Sequence[float], y: Sequence[float], seed: int) -> tuple[float, float]:
    from scipy.stats import permutation_test, rankdata

    across, up = rankdata(x), rankdata(y)
    if len(set(up)) < 2:
        return 0.0, 1.0

    # Of ranks, so that this is Spearman's; all pairings while they can be listed.
    def pearson(order: np.ndarray, axis: int = -1) -> np.ndarray:
        centred = order - order.mean(axis=axis, keepdims=True)
        product = (centred * (up - up.mean())).sum(axis=axis)
        return np.asarray(
            product / np.sqrt((centred**2).sum(axis=axis) * ((up - up.mean()) ** 2).sum())
        )

    result = permutation_test(
        (across,),
        pearson,
        permutation_type="pairings",
        vectorized=True,
        n_resamples=math.factorial(min(len(x), _EXACT_PAIRINGS)),
        rng=np.random.default_rng(seed),
    )
    return float(result.statistic), float(result.pvalue)
