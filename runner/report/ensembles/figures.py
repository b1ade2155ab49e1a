"""The figures of a report on ensembles: the paper's 1 and 2, and the diagram of mean ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from runner.ensemble.setting import MetataskFacts
from runner.ensemble.statistics import Ranking
from runner.report.ensembles.outcome import Outcome
from runner.report.ensembles.rank_diagram import critical_difference
from runner.report.style import COLOURS, by_system, config, heading

if TYPE_CHECKING:
    import altair as alt

TASKS_OF_FIGURE = 16
"""The paper shows 31 tasks in two figures."""
_COLUMNS = 4
_PANEL_HEIGHT = 190
_WIDTH_OF_TECHNIQUE = 26


def figures(outcome: Outcome, ranking: Ranking | None) -> dict[str, alt.TopLevelMixin]:
    """The figures that a run's numbers allow, by the name of their file without its suffix."""
    shown = [task for task in outcome.by_size if any(_points(outcome, task))]
    found: dict[str, Any] = {}
    for start in range(0, len(shown), TASKS_OF_FIGURE):
        name = f"figure{len(found) + 1}"
        part = shown[start : start + TASKS_OF_FIGURE]
        found[name] = _fold_scores(outcome, part, len(found) + 1, -(-len(shown) // TASKS_OF_FIGURE))
    if ranking is not None:
        found["critical_difference"] = critical_difference(outcome.study, ranking)
    return found


def _points(outcome: Outcome, task: MetataskFacts) -> Iterator[dict[str, Any]]:
    for technique in outcome.techniques:
        scores = outcome.fold_scores.get((technique.name, task.name), {})
        mean = outcome.means[technique.name].get(task.name)
        for fold, score in scores.items():
            yield {"system": technique.name, "score": score, "mean": False, "fold": fold}
        if mean is not None:
            yield {"system": technique.name, "score": mean, "mean": True}


def _fold_scores(
    outcome: Outcome, tasks: Sequence[MetataskFacts], number: int, parts: int
) -> alt.TopLevelMixin:
    import altair as alt

    names = [technique.name for technique in outcome.techniques]
    panels = [_panel(list(_points(outcome, task)), task, names, outcome) for task in tasks]
    part = f", part {number} of {parts}" if parts > 1 else ""
    title = heading(
        f"{outcome.study}: scores of simulated ensembles{part}",
        [
            "a dot is a fold, a diamond the mean of all folds; tasks by size, with their rows",
            f"protocol {outcome.setting.protocol}",
        ],
    )
    return alt.concat(*panels, columns=_COLUMNS, title=title, config=config())


def _panel(
    points: list[dict[str, Any]], task: MetataskFacts, names: list[str], outcome: Outcome
) -> alt.LayerChart | alt.FacetChart:
    import altair as alt

    base = alt.Chart(alt.InlineData(values=points)).encode(
        x=alt.X("system:N", sort=names, title=None, axis=alt.Axis(labelAngle=-45)),
        y=alt.Y("score:Q", title=outcome.setting.metric, scale=alt.Scale(zero=False)),
        color=by_system(alt.Color, names, COLOURS).legend(None),
    )
    folds = base.transform_filter("!datum.mean").mark_circle(size=22, opacity=0.5)
    means = base.transform_filter("datum.mean").mark_point(
        shape="diamond", filled=True, size=110, opacity=1, stroke="white", strokeWidth=1
    )
    return alt.layer(
        folds,
        means,
        width=max(150, _WIDTH_OF_TECHNIQUE * len(names)),
        height=_PANEL_HEIGHT,
        title=task_title(task),
    )


def task_title(task: MetataskFacts) -> str:
    """What a chart calls a task: its data set, its own name where that is another, its rows."""
    known = [task.dataset, task.name] if task.dataset not in ("", task.name) else [task.name]
    return f"{', '.join(known)} ({task.rows:,})"
