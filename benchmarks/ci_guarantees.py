"""Whether conditions keep their promises: ``python -m benchmarks.ci_guarantees``.

Simulates histories for each mode, adaptivity, bound and delta, prints a table in Markdown and draws
docs/ci-guarantees.svg. Ends with status 1 where an error rate's interval lies above its delta.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.ci_histories import World, errors
from runner.ci import Guarantee, Reuse, make_plan, parse_condition
from runner.ci.intervals import MODES

if TYPE_CHECKING:
    import altair as alt

HISTORIES = 10_000
STEPS = 8
MANY_STEPS = 32
DELTAS = (0.05, 0.01)
CHART = Path(__file__).parent.parent / "docs" / "ci-guarantees.svg"
LEVEL = 0.95
_FLOOR = 1e-5


@dataclass(frozen=True)
class Setting:
    """A condition with a bound for it, and how often the developer's models differ from the old."""

    name: str
    condition: str
    bound: str
    differing: float = 1.0
    stated: float | None = None


SETTINGS = (
    Setting("hoeffding, n", "n > 0.5 +/- 0.1", "hoeffding"),
    Setting("binomial, n", "n > 0.5 +/- 0.1", "binomial"),
    Setting("hoeffding, n - o", "n - o > 0.02 +/- 0.15", "hoeffding"),
    Setting("bennett, d stated", "n - o > 0.02 +/- 0.05", "bennett", 0.1, 0.1),
    Setting("bennett, d a clause", r"d < 0.1 +/- 0.05 /\ n - o > 0.02 +/- 0.05", "auto", 0.04),
    Setting("bennett, n near 1", "n > 0.9 +/- 0.04", "bennett"),
)
REUSES = {
    "none": Reuse("none", STEPS),
    "firstChange": Reuse("firstChange", STEPS),
    "firstChange, first: fail": Reuse("firstChange", STEPS, first="fail"),
    "firstChange, passes: 3": Reuse("firstChange", STEPS, passes=3),
    "full": Reuse("full", STEPS),
}
INTERVALS, POINTS = "intervals", "point estimates"


@dataclass(frozen=True)
class Rate:
    """How often a promise was broken.

    Attributes:
        by: What the verdicts came from: :data:`INTERVALS` or :data:`POINTS`.
        low: Of the exact binomial interval at :data:`LEVEL`, likewise ``high``.
    """

    setting: str
    mode: str
    adaptivity: str
    delta: float
    by: str
    labels: int
    rate: float
    low: float
    high: float


def rates(histories: int, seed: int) -> Iterator[Rate]:
    """Each setting's error rates, as a plan and the paper's authors' program judge."""
    for setting in SETTINGS:
        for mode in MODES:
            for adaptivity, reuse in REUSES.items():
                for delta in DELTAS:
                    guarantee = Guarantee(
                        parse_condition(setting.condition), delta, mode, reuse, setting.stated
                    )
                    found = World(make_plan(guarantee, setting.bound), setting.differing)
                    for by in (INTERVALS, POINTS):
                        world = replace(found, points=by == POINTS)
                        wrong = errors(world, histories, seed)
                        yield _rate(setting.name, adaptivity, by, world, wrong, histories)


def told_too_much(histories: int, seed: int) -> Iterator[Rate]:
    """A developer who is told each bit, on test sets sized for that and for nothing told."""
    condition = parse_condition(SETTINGS[0].condition)
    told = Reuse("full", MANY_STEPS)
    for delta in DELTAS:
        for name, planned in (
            ("full", told),
            ("none", Reuse("none", MANY_STEPS)),
        ):
            guarantee = Guarantee(condition, delta, "fp-free", planned)
            world = World(make_plan(guarantee, "hoeffding"), 1.0, told=told)
            wrong = errors(world, histories, seed)
            yield _rate(SETTINGS[0].name, name, INTERVALS, world, wrong, histories)


def _rate(setting: str, adaptivity: str, by: str, world: World, wrong: int, histories: int) -> Rate:
    from scipy.stats import binomtest

    interval = binomtest(wrong, histories).proportion_ci(LEVEL, method="exact")
    guarantee = world.plan.guarantee
    return Rate(
        setting,
        guarantee.mode,
        adaptivity,
        guarantee.delta,
        by,
        world.plan.labels,
        wrong / histories,
        float(interval.low),
        float(interval.high),
    )


def table(found: Sequence[Rate]) -> str:
    """A row a promise; for each delta the rows of the test set and how often it was broken."""
    heads = [f"rows, {delta:g} | by the plan | by point estimates" for delta in DELTAS]
    lines = [
        f"| bound | mode | adaptivity | {' | '.join(heads)} |",
        "|---" * (3 + 3 * len(DELTAS)) + "|",
    ]
    rows: dict[tuple[str, str, str], list[str]] = {}
    for own, points in zip(found[::2], found[1::2], strict=True):
        cells = rows.setdefault((own.setting, own.mode, own.adaptivity), [])
        cells += [f"{own.labels:,}", _shown(own), f"{points.rate:.2f}"]
    lines += [f"| {' | '.join((*names, *cells))} |" for names, cells in rows.items()]
    return "\n".join(lines)


def told_table(found: Sequence[Rate]) -> str:
    """A row a test set: what it was sized for, and how often the promise was broken."""
    lines = ["| sized for | delta | rows | errors |", "|---|---|---|---|"]
    lines += [
        f"| {one.adaptivity} | {one.delta:g} | {one.labels:,} | {_shown(one)} |" for one in found
    ]
    return "\n".join(lines)


def _shown(found: Rate) -> str:
    return f"{found.rate:.4f} ({found.low:.5f} to {found.high:.5f})"


def chart(found: Sequence[Rate]) -> alt.FacetChart:
    """Each promise's error rate with its interval beside its delta."""
    import altair as alt
    import pandas as pd

    from runner.report import style

    rows = [
        {**vars(one), "low": max(one.low, _FLOOR), "shown": max(one.rate, _FLOOR)} for one in found
    ]
    scale = alt.Scale(type="log", domain=[_FLOOR, 1])
    base = alt.Chart(pd.DataFrame(rows))
    colour = alt.Color(
        "by:N",
        scale=alt.Scale(domain=[INTERVALS, POINTS], range=style.COLOURS[:2]),
        legend=alt.Legend(title="verdict by", orient="top"),
    )
    place: dict[str, Any] = {
        "y": alt.Y("adaptivity:N", sort=list(REUSES), title=None),
        "yOffset": alt.YOffset("mode:N", sort=list(MODES)),
        "color": colour,
    }
    axis = alt.Axis(format="~g", values=[1e-4, 1e-3, 1e-2, 0.1, 1])
    spans = base.mark_rule().encode(
        x=alt.X("low:Q", scale=scale, axis=axis, title="share of histories with an error"),
        x2="high:Q",
        **place,
    )
    dots = base.mark_point(filled=True, size=45).encode(
        x=alt.X("shown:Q", scale=scale),
        shape=alt.Shape("mode:N", sort=list(MODES), legend=alt.Legend(title="mode", orient="top")),
        **place,
    )
    limit = base.mark_rule(strokeDash=[4, 3], color=style.COLOURS[6]).encode(
        x=alt.X("delta:Q", scale=scale)
    )
    title = style.heading(
        "How often a test set's promise is broken",
        [
            f"{HISTORIES:,} histories of {STEPS} steps; the developer uses every bit released.",
            f"Bars: exact {LEVEL:.0%} intervals. Dashed: delta, what was promised. "
            f"None at all is drawn at {_FLOOR:g}.",
        ],
    )
    layers = alt.layer(spans, dots, limit).properties(width=300, height=150)
    whole: alt.FacetChart = layers.facet(
        row=alt.Row("setting:N", sort=[one.name for one in SETTINGS], title=None),
        column=alt.Column("delta:N", title="delta", sort="descending"),
    ).properties(title=title, config=style.config())
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, print, draw; 1 where an interval lies above its delta."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--histories", type=int, default=HISTORIES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-chart", action="store_true")
    given = parser.parse_args(arguments)
    found = list(rates(given.histories, given.seed))
    print(table(found))
    print()
    print(told_table(list(told_too_much(given.histories, given.seed))))
    if not given.no_chart:
        chart(found).save(str(CHART))
    return int(any(one.by == INTERVALS and one.low > one.delta for one in found))


if __name__ == "__main__":
    sys.exit(main())
