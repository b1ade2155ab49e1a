"""Demsar's diagram of critical differences: which mean ranks may differ by chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from runner.ensemble.statistics import Ranking
from runner.report.style import config, heading

if TYPE_CHECKING:
    import altair as alt

Align = Literal["left", "right", "center"]

_AWAY: Mapping[Align, int] = {"left": 6, "right": -6, "center": 0}
"""Pixels between a line's end and the text beside it, by the text's alignment."""
_TOP = -2.3
"""The upper edge, in rows of text above the axis."""
_ROW_HEIGHT = 26


@dataclass(frozen=True)
class _Line:
    x: float
    y: float
    x2: float
    y2: float
    width: float


@dataclass(frozen=True)
class _Text:
    x: float
    y: float
    text: str
    align: Align


@dataclass(frozen=True)
class _Drawing:
    """Lines and texts; x are ranks, y rows of text below the axis."""

    lines: list[_Line] = field(default_factory=list)
    texts: list[_Text] = field(default_factory=list)

    def line(self, x: float, y: float, x2: float, y2: float, width: float = 1.0) -> None:
        self.lines.append(_Line(x, y, x2, y2, width))

    def text(self, x: float, y: float, text: str, align: Align) -> None:
        self.texts.append(_Text(x, y, text, align))


def critical_difference(study: str, ranking: Ranking) -> alt.TopLevelMixin:
    """An axis of mean ranks, with bars over techniques that don't differ (Demsar 2006, figure 1).

    Args:
        study: Its name.
        ranking: Of the techniques.
    """
    import altair as alt

    drawing = _drawn(ranking)
    count = len(ranking.techniques)
    outside = _margin(count)
    across = alt.Scale(domain=[1 - outside, count + outside], nice=False)
    low = max(line.y2 for line in drawing.lines) + 0.5
    down = alt.Scale(domain=[low, _TOP], nice=False)
    x, y = alt.X("x:Q", scale=across, axis=None), alt.Y("y:Q", scale=down, axis=None)
    rules = (
        alt.Chart(_values(drawing.lines))
        .mark_rule(color="#333333", strokeCap="butt")
        .encode(x=x, x2="x2:Q", y=y, y2="y2:Q", strokeWidth=alt.StrokeWidth("width:Q", scale=None))
    )
    labels = [
        alt.Chart(_values([text for text in drawing.texts if text.align == align]))
        .mark_text(align=align, fontSize=12, baseline="middle", dx=_AWAY[align])
        .encode(x=x, y=y, text="text:N")
        for align in _AWAY
    ]
    chart = alt.layer(rules, *labels, width=640, height=_ROW_HEIGHT * (low - _TOP))
    look = config()
    look.view = alt.ViewConfig(stroke=None)
    return alt.concat(chart, title=_title(study, ranking), config=look)


def _values(marks: Sequence[_Line] | Sequence[_Text]) -> alt.InlineData:
    import altair as alt

    return alt.InlineData(values=[asdict(mark) for mark in marks])


def _title(study: str, ranking: Ranking) -> Any:
    said = (
        ""
        if ranking.p_value is None
        else f"; Friedman's test that all are equal: p = {ranking.p_value:.2g}"
    )
    return heading(
        f"{study}: mean ranks over {ranking.tasks} tasks",
        [
            "a bar joins techniques whose mean ranks differ by less than the critical difference",
            f"(Nemenyi's test at 5 %: {ranking.critical_difference:.2f}){said}",
        ],
    )


def _margin(count: int) -> float:
    """Ranks beyond the axis on either side, for the names."""
    return 0.28 * (count - 1) + 0.4


def _drawn(ranking: Ranking) -> _Drawing:
    drawing = _Drawing()
    _draw_axis(drawing, len(ranking.techniques))
    _draw_difference(drawing, ranking)
    for place, group in enumerate(ranking.groups):
        own = [ranking.ranks[ranking.techniques.index(name)] for name in group]
        height = 0.4 + 0.45 * place
        drawing.line(min(own) - 0.04, height, max(own) + 0.04, height, 5.0)
    _draw_names(drawing, ranking)
    return drawing


def _draw_axis(drawing: _Drawing, count: int) -> None:
    drawing.line(1, 0, count, 0, 1.5)
    for tick in range(1, count + 1):
        drawing.line(tick, -0.25, tick, 0)
        drawing.text(tick, -0.65, str(tick), "center")


def _draw_difference(drawing: _Drawing, ranking: Ranking) -> None:
    """The critical difference to scale above the axis, cut where the axis is shorter."""
    shown = min(ranking.critical_difference, len(ranking.techniques) - 1.0)
    drawing.line(1, -1.3, 1 + shown, -1.3, 2.0)
    more = "" if shown == ranking.critical_difference else ", beyond this axis"
    label = f"critical difference {ranking.critical_difference:.2f}{more}"
    drawing.text(1 + shown / 2, -1.75, label, "center")


def _draw_names(drawing: _Drawing, ranking: Ranking) -> None:
    """Each technique's name beside the diagram, the better half left, joined to its rank."""
    count = len(ranking.techniques)
    below = 0.45 * len(ranking.groups) + 0.8
    left, outside = (count + 1) // 2, 0.3 * _margin(count)
    for place, (name, rank) in enumerate(zip(ranking.techniques, ranking.ranks, strict=True)):
        on_left = place < left
        # The outermost label is the uppermost, so that no two connections cross.
        row = below + (place if on_left else count - 1 - place)
        end = 1 - outside if on_left else count + outside
        drawing.line(rank, 0, rank, row)
        drawing.line(rank, row, end, row)
        if on_left:
            drawing.text(end, row, f"{name}  {rank:.2f}", "right")
        else:
            drawing.text(end, row, f"{rank:.2f}  {name}", "left")
