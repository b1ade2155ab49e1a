"""Rows in columns, against the same said row by row in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import groupby

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.report import CONFIGURATIONS, summary
from runner.report.chart import MOST_POINTS, drawn
from runner.report.groups import Groups, Texts, encode_texts
from runner.report.rows import load
from runner.report.times import training_times
from runner.store import Store, Wanted

from .conftest import evaluation

Record = Callable[..., Store]
WORDS = st.none() | st.sampled_from(["", "a", "b", "c"])


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.floats(-1e9, 1e9))))
def test_groups(rows: list[tuple[int, int, float]]) -> None:
    rows.sort(key=lambda row: row[:2])
    one, other, values = (np.array([row[i] for row in rows]) for i in range(3))
    expected = [list(own) for _, own in groupby(rows, key=lambda row: row[:2])]
    groups = Groups.of(one, other)
    assert groups.sizes.tolist() == [len(own) for own in expected]
    assert groups.sums(values).tolist() == [
        float(sum(Fraction(row[2]) for row in own)) for own in expected
    ]
    assert groups.labels().tolist() == [number for number, own in enumerate(expected) for _ in own]


@settings(deadline=None)
@given(st.lists(st.tuples(WORDS, st.integers(0, 3), st.booleans())))
def test_texts(rows: list[tuple[str | None, int, bool]]) -> None:
    column = pa.table({"words": pa.array([row[0] for row in rows], pa.string())})
    words = Texts.of(encode_texts(column, ["words"])["words"])
    among = np.array([row[2] for row in rows], bool)
    for word in ("", "a", "x"):
        assert words.equal(word).tolist() == [row[0] == word for row in rows]
    told = [row[0] for row in rows if row[2] and row[0] is not None]
    assert list(words.counts(among).items()) == list(Counter(told).items())
    expected = [
        "+".join(sorted({word for word, group, counts in rows if group == own and counts and word}))
        for own in range(5)
    ]
    labels = np.array([row[1] for row in rows], int)
    assert words.joined(labels, 5, among) == [text or None for text in expected]


def test_times_without_any() -> None:
    nothing = np.zeros(0)
    found = training_times(
        nothing.astype(int), Groups.of(nothing), nothing, np.ones(2, dtype=np.int64)
    )
    assert np.isnan(found.seconds).tolist() == [True, True]


def wanted(task: str, numbers: tuple[int, ...], *of: str) -> Wanted:
    keys = tuple(f"{of[0] if of else task}/mine/{7 + n}/{fold}" for n in numbers for fold in (0, 1))
    return Wanted(task, "mine", 2, keys, 1, numbers)


def test_a_refit_belongs_to_all_tasks_of_one_content_and_counts_once(record: Record) -> None:
    """Rows of another grid's numbers; two names of one task; a refit that was planned twice."""
    rows = [
        evaluation("wdbc", "mine", 7 + n, fold) | {"score": 0.5 + n / 10, "fit_seconds": 1.0}
        for n in (0, 1)
        for fold in (0, 1)
    ]
    test = evaluation("wdbc", "mine", 8, None) | {"score": 0.75, "fit_seconds": 2.0}
    planned = wanted("wdbc", (0, 1)), wanted("again", (0, 1), "wdbc")
    store = record([*rows, test], planned, tests=(test["key"], test["key"]))
    found = load(store).table
    ids = list(zip(found["pair"].to_pylist(), found["configuration_id"].to_pylist(), strict=True))
    assert ids == [(0, 0), (0, 0), (0, 1), (0, 1), (0, 1), (1, 0), (1, 0), (1, 1), (1, 1), (1, 1)]
    assert found["stage"].to_pylist() == [*["cv"] * 4, "test"] * 2
    for row in summary(store).to_pylist():
        assert (row["configuration_id"], row["configuration"]) == (1, '{"leaves": 8}')
        assert (row["test_auc"], row["refit_seconds"]) == (0.75, 2.0)


def test_a_chart_of_very_many_configurations_shows_the_selected_ones() -> None:
    count = 3 * MOST_POINTS
    selected = np.arange(count) == 1000
    columns = {
        "task": ["wdbc"] * count,
        "cv_auc": [None, *np.linspace(0.5, 1, count - 1)],
        "training_seconds": np.ones(count),
        "selected": selected,
    }
    table = pa.table(
        [
            pa.array(columns[field.name], field.type)
            if field.name in columns
            else pa.nulls(count, field.type)
            for field in CONFIGURATIONS
        ],
        schema=CONFIGURATIONS,
    )
    found = drawn(table)
    assert found.few == f"{len(found.table):,} of {count - 1:,}"
    assert len(found.table) <= MOST_POINTS + 1
    assert 1000 in found.table["row"].to_pylist()
    assert drawn(table.slice(0, 10)).few == ""
