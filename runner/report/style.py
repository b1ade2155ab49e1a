"""How charts look: colours, shapes, headings, axes; and how they become files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

# Okabe and Ito's colours, told apart with any of the common colour blindnesses; their yellow is
# left out, too pale on white. Shapes tell the systems apart in print without colour.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F"]
SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right"]


def heading(title: str, subtitle: Sequence[str]) -> alt.TitleParams:
    """A chart's title with lines of explanation below it."""
    import altair as alt

    return alt.TitleParams(
        title,
        subtitle=list(subtitle),
        fontSize=16,
        subtitleFontSize=12,
        subtitleColor="#555555",
        offset=14,
    )


def config() -> alt.Config:
    """What all charts share."""
    import altair as alt

    return alt.Config(
        view=alt.ViewConfig(stroke="#DDDDDD"),
        axis=alt.AxisConfig(gridColor="#EEEEEE", labelFontSize=11, titleFontSize=12),
        title=alt.TitleConfig(anchor="start"),
    )


def seconds_axis(domain: tuple[float, float], title: str) -> alt.X:
    """A logarithmic axis of the field ``seconds``."""
    import altair as alt

    low, high = (math.log10(value) for value in domain)
    powers = [10.0**power for power in range(math.ceil(low), math.floor(high) + 1)]
    # Within one power of ten the lines in between are all there is.
    ticks = powers if len(powers) > 1 else alt.Undefined
    axis = alt.Axis(title=title, format="~g", values=ticks)
    return alt.X("seconds:Q", scale=alt.Scale(type="log", domain=domain, nice=False), axis=axis)


def by_system(channel: Any, systems: Sequence[str], values: Sequence[str]) -> Any:
    """An encoding of the field ``system`` as one of some colours or shapes."""
    import altair as alt

    return channel(
        "system:N",
        scale=alt.Scale(
            domain=list(systems),
            range=[values[index % len(values)] for index in range(len(systems))],
        ),
        legend=alt.Legend(title="system", symbolOpacity=1, symbolSize=90),
    )


def save(chart: alt.TopLevelMixin, svg: Path, png: Path) -> None:
    """Draws the chart once, and the drawing as pixels; no browser and no network is used."""
    import vl_convert

    # Checked part by part when it was made.
    drawing = vl_convert.vegalite_to_svg(chart.to_dict(validate=False))
    svg.write_text(drawing, encoding="utf-8")
    png.write_bytes(vl_convert.svg_to_png(drawing, scale=2))
