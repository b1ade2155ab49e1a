"""What a study's numbers say, in words with the numbers in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from runner.mlbench.comparison import (
    Comparison,
    compare_over_folds,
    compare_over_tasks,
    least_adjusted,
)
from runner.mlbench.fastest import Observation2, observation2
from runner.mlbench.intervals import LEVEL, Estimate
from runner.mlbench.linearity import (
    SMALL_ROWS,
    Contrast,
    Observation1,
    SizeEffect,
    contrasts,
    observation1,
    size_effect,
)
from runner.mlbench.pareto import Point, task_front
from runner.mlbench.recommendation import Recommendation, recommend
from runner.mlbench.study import Study

FALSE_DISCOVERIES = 0.05
"""The rate below which differences are called significant."""
_NAMES = {"linear": "linear", "nonlinear": "non-linear"}


@dataclass(frozen=True)
class Answers:
    """A study's answers; None where its numbers don't allow one.

    Attributes:
        fronts: The Pareto front of AUC and total training time, by task.
        remarks: What a reader must know of the times.
        awaited: By task the systems whose predictions wait to be sent to its competition.
    """

    fronts: Mapping[str, tuple[Point, ...]]
    contrasts: tuple[Contrast, ...]
    size: SizeEffect | None
    first: Observation1 | None
    second: Observation2 | None
    recommendations: tuple[Recommendation, ...]
    over_tasks: tuple[Comparison, ...]
    over_folds: tuple[Comparison, ...]
    remarks: tuple[str, ...] = ()
    awaited: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def answer(study: Study, *, small_rows: int = SMALL_ROWS, seed: int = 0) -> Answers:
    """Everything that a study's numbers allow to be answered.

    Args:
        study: What was found.
        small_rows: Data sets of fewer training rows are small.
        seed: Of the intervals.
    """
    found = contrasts(study)
    fronts = {task.name: task_front(study, task.name) for task in study.tasks}
    return Answers(
        fronts={task: front for task, front in fronts.items() if front},
        contrasts=found,
        size=size_effect(found, seed=seed),
        first=observation1(found, small_rows=small_rows, seed=seed),
        second=observation2(study, seed=seed),
        recommendations=recommend(study, small_rows=small_rows),
        over_tasks=compare_over_tasks(study, seed=seed),
        over_folds=compare_over_folds(study),
        remarks=study.remarks,
        awaited=_awaited(study),
    )


def _awaited(study: Study) -> dict[str, tuple[str, ...]]:
    found = {
        task.name: tuple(
            system.name for system in study.systems if study.result(task.name, system.name).awaited
        )
        for task in study.tasks
    }
    return {task: systems for task, systems in found.items() if systems}


def sentences(answers: Answers) -> list[str]:
    """The answers in words, a paragraph each."""
    return [
        *_about_awaited(answers.awaited),
        *_about_first(answers.first),
        *_about_size(answers.size),
        *_about_second(answers.second),
        *_about_comparisons(answers.over_tasks, "tasks"),
        *_about_comparisons(answers.over_folds, "folds within a task"),
        *answers.remarks,
    ]


def _about_awaited(awaited: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for task, systems in awaited.items():
        yield (
            f"Scores on {task} are awaited for {', '.join(systems)}: only its competition has the "
            f"labels of the test rows. Send in submissions/{task}/SYSTEM.csv, then enter what "
            f"comes back with `runner data score {task} SYSTEM SCORE`."
        )


def _about_first(first: Observation1 | None) -> Iterator[str]:
    if first is None:
        return
    decided = first.count(True) + first.count(False)
    yield (
        "Observation 1 (a linear model for a small data set, a non-linear one otherwise; small: "
        f"fewer than {first.small_rows:,} rows) holds on {first.count(True)} of "
        f"{_plural(len(first.tasks), 'task')}{_exceptions(first)}. A coin would do as well on "
        f"{decided} tasks with a chance of {_p(first.p_value)} (sign test). Following it loses "
        f"{_estimate(first.loss)} AUC on average against the better kind; always linear loses "
        f"{_estimate(first.always_linear)}, always non-linear {_estimate(first.always_nonlinear)}."
    )


def _exceptions(first: Observation1) -> str:
    failed = [
        f"{advice.task} ({advice.rows:,} rows, {_NAMES[advice.better]} is better by "
        f"{advice.loss:.3g})"
        for advice in first.tasks
        if advice.holds is False
    ]
    tied = [advice.task for advice in first.tasks if advice.holds is None]
    text = f"; it fails on {', '.join(failed)}" if failed else ""
    return text + (f"; neither kind is better on {', '.join(tied)}" if tied else "")


def _about_size(size: SizeEffect | None) -> Iterator[str]:
    if size is None:
        return
    verdict = "a trend" if size.slope.excludes_zero else "no trend that can be told from chance"
    crossing = (
        f"; the fitted line crosses zero at {size.crossing:,.0f} rows"
        if size.crossing is not None and size.slope.excludes_zero
        else ""
    )
    yield (
        "Non-linear minus linear AUC changes by "
        f"{_estimate(size.slope, signed=True)} for ten times the rows, over "
        f"{size.slope.cases} tasks: {verdict}{crossing}. Spearman's correlation with size is "
        f"{size.correlation:.2f} (p = {_p(size.p_value)}, permutations)."
    )


def _about_second(second: Observation2 | None) -> Iterator[str]:
    if second is None:
        return
    for kind, loss in second.loss.items():
        picks = second.of_kind(kind)
        counts = ", ".join(f"{name} on {n}" for name, n in second.fastest(kind).items())
        name, times = second.named[kind]
        yield (
            f"Observation 2 (of {_NAMES[kind]} models take the one that trains fastest, by "
            f"{second.time} time) holds within {second.margin:g} AUC on {second.holds(kind)} of "
            f"{_plural(len(picks), 'task')}. It loses {_estimate(loss)} AUC on average against the "
            f"best {_NAMES[kind]} model; against picking blindly it gains "
            f"{_estimate(second.saved[kind], signed=True)}. Fastest: {counts}. {name}, which the "
            f"paper names, is the fastest on {times}."
        )


def _about_comparisons(found: Sequence[Comparison], cases: str) -> Iterator[str]:
    if not found:
        return
    differing = [one for one in found if one.adjusted <= FALSE_DISCOVERIES]
    text = (
        f"Over {cases}, {len(differing)} of {_plural(len(found), 'paired comparison')} differ at a "
        f"false discovery rate of {FALSE_DISCOVERIES:.0%} (Benjamini and Yekutieli)"
    )
    if least_adjusted(found) > FALSE_DISCOVERIES:
        text += (
            "; none could have: with so few cases the least possible adjusted p-value is "
            f"{_p(least_adjusted(found))}"
        )
    yield text + "."


def _estimate(estimate: Estimate, *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:{sign}.4f} (too few tasks for an interval)"
    return (
        f"{estimate.value:{sign}.4f} ({LEVEL:.0%} interval {estimate.low:{sign}.4f} to "
        f"{estimate.high:{sign}.4f})"
    )


def _p(value: float) -> str:
    return f"{value:.2g}" if value >= 0.0001 else "below .0001"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
