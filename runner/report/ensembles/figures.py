"""The figures of a report on ensembles: the paper's 1 and 2, and critical differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from runner.ensemble.setting import MetataskFacts
from runner.ensemble.statistics import Ranking
from runner.report.ensembles.outcome import Outcome
from runner.report.style import COLOURS, by_system, config, heading

if TYPE_CHECKING:
    import altair as alt

TASKS_OF_FIGURE = 16
"""The paper shows 31 tasks in two figures."""
_COLUMNS = 4
_PANEL_HEIGHT = 190
_WIDTH_OF_TECHNIQUE = 26
_AWAY: Mapping[Literal["left", "right", "center"], int] = {"left": 6, "right": -6, "center": 0}
"""Pixels between a line's end and the text beside it, by the text's alignment."""


def figures(outcome: Outcome, ranking: Ranking | None) -> dict[str, alt.TopLevelMixin]:
    """The figures that a run's numbers allow, by the name of their file without its suffix."""
    shown = [task for task in outcome.by_size if any(_points(outcome, task))]
    found: dict[str, Any] = {}
    for start in range(0, len(shown), TASKS_OF_FIGURE):
        name = f"figure{len(found) + 1}"
        part = shown[start : start + TASKS_OF_FIGURE]
        found[name] = _fold_scores(outcome, part, len(found) + 1, -(-len(shown) // TASKS_OF_FIGURE))
    if ranking is not None:
        found["critical_difference"] = _critical_difference(outcome, ranking)
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


def _critical_difference(outcome: Outcome, ranking: Ranking) -> alt.TopLevelMixin:
    """Demsar's diagram: an axis of mean ranks, bars over techniques that don't differ."""
    import altair as alt

    lines, texts = _diagram(ranking)
    count = len(ranking.techniques)
    outside = _margin(count)
    across = alt.Scale(domain=[1 - outside, count + outside], nice=False)
    low = max(line["y2"] for line in lines) + 0.5
    down = alt.Scale(domain=[low, _TOP], nice=False)
    x, y = (
        alt.X("x:Q", scale=across, axis=None),
        alt.Y("y:Q", scale=down, axis=None),
    )
    width = alt.StrokeWidth("width:Q", scale=None)
    rules = (
        alt.Chart(alt.InlineData(values=lines))
        .mark_rule(color="#333333", strokeCap="butt")
        .encode(x=x, x2="x2:Q", y=y, y2="y2:Q", strokeWidth=width)
    )
    labels = [
        alt.Chart(alt.InlineData(values=[t for t in texts if t["align"] == align]))
        .mark_text(align=align, fontSize=12, baseline="middle", dx=_AWAY[align])
        .encode(x=x, y=y, text="text:N")
        for align in _AWAY
    ]
    said = (
        ""
        if ranking.p_value is None
        else f"; Friedman's test that all are equal: p = {ranking.p_value:.2g}"
    )
    title = heading(
        f"{outcome.study}: mean ranks over {ranking.tasks} tasks",
        [
            "a bar joins techniques whose mean ranks differ by less than the critical difference",
            f"(Nemenyi's test at 5 %: {ranking.critical_difference:.2f}){said}",
        ],
    )
    chart = alt.layer(rules, *labels, width=640, height=26 * (low - _TOP))
    look = config()
    look.view = alt.ViewConfig(stroke=None)
    return alt.concat(chart, title=title, config=look)


_TOP = -2.3


def _margin(count: int) -> float:
    """Ranks beyond the axis on either side, for the names."""
    return 0.28 * (count - 1) + 0.4


def _diagram(ranking: Ranking) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Lines from (x, y) to (x2, y2) in ranks and rows of text, and texts."""
    count = len(ranking.techniques)
    lines: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []

    def line(x: float, y: float, x2: float, y2: float, width: float = 1.0) -> None:
        lines.append({"x": x, "y": y, "x2": x2, "y2": y2, "width": width})

    def text(x: float, y: float, text: str, align: str) -> None:
        texts.append({"x": x, "y": y, "text": text, "align": align})

    line(1, 0, count, 0, 1.5)
    for tick in range(1, count + 1):
        line(tick, -0.25, tick, 0)
        text(tick, -0.65, str(tick), "center")
    shown = min(ranking.critical_difference, count - 1.0)
    line(1, -1.3, 1 + shown, -1.3, 2.0)
    more = "" if shown == ranking.critical_difference else ", beyond this axis"
    label = f"critical difference {ranking.critical_difference:.2f}{more}"
    text(1 + shown / 2, -1.75, label, "center")

    for place, group in enumerate(ranking.groups):
        own = [ranking.ranks[ranking.techniques.index(name)] for name in group]
        height = 0.4 + 0.45 * place
        line(min(own) - 0.04, height, max(own) + 0.04, height, 5.0)
    below = 0.45 * len(ranking.groups) + 0.8
    left, outside = (count + 1) // 2, 0.3 * _margin(count)
    for place, (name, rank) in enumerate(zip(ranking.techniques, ranking.ranks, strict=True)):
        on_left = place < left
        # The outermost label is the uppermost, so that no two connections cross.
        row = below + (place if on_left else count - 1 - place)
        end = 1 - outside if on_left else count + outside
        line(rank, 0, rank, row)
        line(rank, row, end, row)
        if on_left:
            text(end, row, f"{name}  {rank:.2f}", "right")
        else:
            text(end, row, f"{rank:.2f}  {name}", "left")
    return lines, texts
