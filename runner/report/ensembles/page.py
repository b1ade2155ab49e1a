"""The page of a report on ensembles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from runner.ensemble.setting import MetataskFacts
from runner.ensemble.statistics import Ranking
from runner.report.ensembles.figures import task_title
from runner.report.ensembles.outcome import Outcome
from runner.report.ensembles.tables import TITLES
from runner.report.page import Content
from runner.report.page.columns import encode

TASKS_OF_CHART = 4


def content(
    outcome: Outcome,
    tables: Mapping[str, pa.Table],
    notes: Sequence[str],
    answers: Sequence[str],
    ranking: Ranking | None,
) -> Content:
    """What the page shows.

    Args:
        outcome: What was found.
        tables: By name; those without rows are left out.
        notes: What a reader must know.
        answers: What the numbers say.
        ranking: For the chart of mean ranks.
    """
    charts = [] if ranking is None else [_ranks(ranking)]
    return Content(
        title=outcome.study,
        facts=tuple(_facts(outcome)),
        notes=tuple(notes),
        answers=tuple(answers),
        tables=tuple(
            {"id": name, "title": TITLES[name], **encode(table)}
            for name, table in tables.items()
            if len(table)
        ),
        charts=(*charts, *_fold_scores(outcome)),
    )


def _facts(outcome: Outcome) -> Iterator[tuple[str, str]]:
    setting = outcome.setting
    yield "protocol", setting.protocol
    yield "metric", setting.metric
    yield "seed", str(setting.seed)
    yield "metatasks", f"{len(outcome.tasks):,}"
    yield "techniques", ", ".join(technique.name for technique in outcome.techniques)
    yield "evaluations", f"{len(outcome.evaluations):,} of {outcome.planned:,}"
    models = sum(task.models for task in outcome.tasks)
    yield "base models", f"{models:,}, none of them trained here"
    yield from outcome.facts


def _ranks(ranking: Ranking) -> Mapping[str, Any]:
    return {
        "id": "critical_difference",
        "title": "Mean ranks",
        "about": f"Over {ranking.tasks} tasks; 1 is the best. A bar joins techniques whose mean "
        f"ranks are less than {ranking.critical_difference:.2f} apart, Nemenyi's critical "
        "difference at 5 %.",
        "ranks": [
            {"name": name, "rank": rank}
            for name, rank in zip(ranking.techniques, ranking.ranks, strict=True)
        ],
        "groups": [
            [ranking.techniques.index(group[0]), ranking.techniques.index(group[-1])]
            for group in ranking.groups
        ],
        "difference": ranking.critical_difference,
    }


def _fold_scores(outcome: Outcome) -> Iterator[Mapping[str, Any]]:
    shown = [
        task
        for task in outcome.by_size
        if any(task.name == name for _, name in outcome.fold_scores)
    ]
    for start in range(0, len(shown), TASKS_OF_CHART):
        yield _chart(outcome, shown[start : start + TASKS_OF_CHART], start // TASKS_OF_CHART + 1)


def _chart(outcome: Outcome, tasks: Sequence[MetataskFacts], number: int) -> Mapping[str, Any]:
    many = len(outcome.tasks) > TASKS_OF_CHART
    return {
        "id": f"scores{number}",
        "title": f"Scores by fold, part {number}" if many else "Scores by fold",
        "about": "A small point is a fold, a large one the mean of all folds.",
        "series": [technique.name for technique in outcome.techniques],
        "x": {
            "scale": "band",
            "title": "metatask, by rows",
            "names": [task_title(task) for task in tasks],
        },
        "y": {"title": outcome.setting.metric},
        "panels": [{"title": "", "points": list(_points(outcome, tasks))}],
    }


def _points(outcome: Outcome, tasks: Sequence[MetataskFacts]) -> Iterator[Mapping[str, Any]]:
    for place, task in enumerate(tasks):
        for series, technique in enumerate(outcome.techniques):
            who = {"x": place, "s": series, "pair": [task.name, technique.name]}
            scores = outcome.fold_scores.get((technique.name, task.name), {})
            for fold, score in scores.items():
                text = [f"fold {fold}", f"{outcome.setting.metric}: {score:.4f}"]
                yield {**who, "y": score, "text": text}
            mean = outcome.means[technique.name].get(task.name)
            if mean is not None:
                text = [f"mean {outcome.setting.metric}: {mean:.4f}"]
                yield {**who, "y": mean, "text": text, "large": True}
