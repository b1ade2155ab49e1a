"""The tables of a report on ensembles, the paper's first."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from runner.ensemble.statistics import Ranking
from runner.mlbench.comparison import Comparison
from runner.report.ensembles.gaps import Gaps
from runner.report.ensembles.outcome import COLUMNS, Evaluation, Outcome

TITLES = {
    "table1": "Metatasks",
    "table2": "Closed gap between the single and the virtual best",
    "gaps": "Closed gap by task",
    "scores": "Mean over folds, by task",
    "ranks": "Mean ranks",
    "comparisons": "Paired comparisons over tasks",
    "times": "Seconds of each technique",
    "savings": "Seconds that stored predictions save",
    "folds": "Folds",
}

_TABLE1 = {
    "Dataset": pa.string(),
    "Metatask": pa.string(),
    "#instances": pa.int64(),
    "#portfolio_algorithms": pa.int64(),
    "#feat": pa.int64(),
    "#cat_feat": pa.int64(),
    "#classes": pa.int64(),
    "#folds": pa.int64(),
    "#corrupted": pa.int64(),
}
_TABLE2 = {
    "technique": pa.string(),
    "mean": pa.float64(),
    "std": pa.float64(),
    "tasks": pa.int64(),
    "mean_large": pa.float64(),
    "std_large": pa.float64(),
    "tasks_large": pa.int64(),
}
"""``large``: over tasks of ``LARGE_ROWS`` rows at least, as the paper has it."""
_SCORES = {
    "task": pa.string(),
    "technique": pa.string(),
    "mean": pa.float64(),
    "std": pa.float64(),
    "folds": pa.int64(),
    "planned": pa.int64(),
    "outcomes": pa.string(),
}
_RANKS = {
    "technique": pa.string(),
    "mean_rank": pa.float64(),
    "not_worse_than_best": pa.bool_(),
    "groups": pa.string(),
}
_COMPARISONS = {
    "one": pa.string(),
    "other": pa.string(),
    "wins": pa.int64(),
    "ties": pa.int64(),
    "losses": pa.int64(),
    "mean_difference": pa.float64(),
    "low": pa.float64(),
    "high": pa.float64(),
    "p_value": pa.float64(),
    "adjusted_p": pa.float64(),
    "least_p": pa.float64(),
}
_TIMES = {
    "technique": pa.string(),
    "evaluations": pa.int64(),
    "fit_seconds": pa.float64(),
    "predict_seconds": pa.float64(),
    "mean_fit_seconds": pa.float64(),
    "most_peak_mib": pa.float64(),
}
_SAVINGS = {
    "task": pa.string(),
    "models": pa.int64(),
    "timed_models": pa.int64(),
    "training_seconds": pa.float64(),
    "simulation_seconds": pa.float64(),
    "factor": pa.float64(),
}
_EVALUATIONS = {
    "task": pa.string(),
    "technique": pa.string(),
    "fold": pa.int64(),
    **{
        name: pa.string()
        if name in ("outcome", "reason", "error", "timing", "machine")
        else pa.int64()
        if name == "shared_with"
        else pa.float64()
        for name in COLUMNS
    },
}


def tables(
    outcome: Outcome,
    gaps: Gaps | None,
    ranking: Ranking | None,
    comparisons: Sequence[Comparison],
) -> dict[str, pa.Table]:
    """All tables by name; those without rows are empty.

    Args:
        outcome: What was found.
        gaps: Between the bounds; None where the study has none.
        ranking: Of the techniques that aren't oracles.
        comparisons: Theirs, in pairs.
    """
    return {
        "table1": _table(_TABLE1, _metatasks(outcome)),
        "table2": _table(_TABLE2, _spreads(gaps)),
        "gaps": _gaps(outcome, gaps),
        "scores": _table(_SCORES, _scores(outcome)),
        "ranks": _table(_RANKS, _ranks(ranking)),
        "comparisons": _table(_COMPARISONS, _comparisons(comparisons)),
        "times": _table(_TIMES, _times(outcome)),
        "savings": _table(_SAVINGS, savings(outcome)),
        "folds": _table(_EVALUATIONS, map(asdict, outcome.evaluations)),
    }


def savings(outcome: Outcome) -> Iterator[dict[str, Any]]:
    """By task what training its models took, and what simulating all techniques did.

    The former is null, as is their ratio, where the time of any model is unknown.
    """
    for task in outcome.by_size:
        known = task.models > 0 and task.timed_models == task.models
        simulated = sum(one.seconds for one in outcome.of(task=task.name))
        yield {
            "task": task.name,
            "models": task.models,
            "timed_models": task.timed_models,
            "training_seconds": task.train_seconds if known else None,
            "simulation_seconds": simulated,
            "factor": task.train_seconds / simulated if known and simulated else None,
        }


def _table(columns: Mapping[str, pa.DataType], rows: Iterator[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=pa.schema(list(columns.items())))


def _metatasks(outcome: Outcome) -> Iterator[dict[str, Any]]:
    for task in outcome.by_size:
        values = (
            task.dataset,
            task.name,
            task.rows,
            task.models,
            task.features,
            task.categorical,
            task.classes,
            task.folds,
            task.corrupted,
        )
        yield dict(zip(_TABLE1, values, strict=True))


def _spreads(gaps: Gaps | None) -> Iterator[dict[str, Any]]:
    if gaps is None:
        return
    for technique, found in gaps.all_tasks.items():
        large = gaps.large_tasks.get(technique)
        yield {
            "technique": technique,
            "mean": found.mean,
            "std": found.std,
            "tasks": found.tasks,
            "mean_large": None if large is None else large.mean,
            "std_large": None if large is None else large.std,
            "tasks_large": 0 if large is None else large.tasks,
        }


def _gaps(outcome: Outcome, gaps: Gaps | None) -> pa.Table:
    """A column a technique, a row a task."""
    names = [] if gaps is None else [n.name for n in outcome.techniques if n.name in gaps.all_tasks]
    columns = {"task": pa.string(), **dict.fromkeys(names, pa.float64())}
    rows = (
        {"task": task.name, **gaps.by_task[task.name]}
        for task in outcome.by_size
        if gaps is not None and task.name in gaps.by_task
    )
    return _table(columns, rows)


def _scores(outcome: Outcome) -> Iterator[dict[str, Any]]:
    for task in outcome.by_size:
        for technique in outcome.techniques:
            scores = list(outcome.fold_scores.get((technique.name, task.name), {}).values())
            found = outcome.of(task.name, technique.name)
            yield {
                "task": task.name,
                "technique": technique.name,
                "mean": outcome.means[technique.name].get(task.name),
                "std": statistics.stdev(scores) if len(scores) > 1 else None,
                "folds": len(scores),
                "planned": outcome.folds[task.name],
                "outcomes": _outcomes(found),
            }


def _outcomes(found: Sequence[Evaluation]) -> str:
    names = [one.outcome for one in found]
    return ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))


def _ranks(ranking: Ranking | None) -> Iterator[dict[str, Any]]:
    if ranking is None:
        return
    best = ranking.ranks[0]
    for name, mean in zip(ranking.techniques, ranking.ranks, strict=True):
        letters = (chr(ord("a") + i) for i, group in enumerate(ranking.groups) if name in group)
        yield {
            "technique": name,
            "mean_rank": mean,
            "not_worse_than_best": mean - best < ranking.critical_difference,
            "groups": "".join(letters),
        }


def _comparisons(comparisons: Sequence[Comparison]) -> Iterator[dict[str, Any]]:
    for one in comparisons:
        yield {
            "one": one.one,
            "other": one.other,
            "wins": one.wins,
            "ties": one.ties,
            "losses": one.losses,
            "mean_difference": one.difference.value,
            "low": one.difference.low,
            "high": one.difference.high,
            "p_value": one.p_value,
            "adjusted_p": one.adjusted,
            "least_p": one.least_p,
        }


def _times(outcome: Outcome) -> Iterator[dict[str, Any]]:
    for technique in outcome.techniques:
        found = [one for one in outcome.of(technique=technique.name) if one.outcome == "ok"]
        fits = [one.fit_seconds for one in found if one.fit_seconds is not None]
        peaks = [one.peak_mib for one in found if one.peak_mib is not None]
        yield {
            "technique": technique.name,
            "evaluations": len(found),
            "fit_seconds": sum(fits) if fits else None,
            "predict_seconds": sum(one.predict_seconds or 0.0 for one in found) if found else None,
            "mean_fit_seconds": statistics.fmean(fits) if fits else None,
            "most_peak_mib": max(peaks, default=None),
        }
