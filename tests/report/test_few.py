"""The choice of configurations for a page, against sorting each group in Python."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from runner.report import CONFIGURATIONS
from runner.report.page.few import few

ROW = st.fixed_dictionaries(
    {
        "task": st.sampled_from(["a", "b"]),
        "system": st.sampled_from(["C-LR", "C-BDT"]),
        "cv_auc": st.none() | st.sampled_from([0.5, 0.7, 0.9]),
        "selected": st.booleans(),
    }
)


@given(st.lists(ROW, min_size=9, max_size=40))
def test_the_best_of_each_pair_and_the_selected_stay(rows: list[dict[str, Any]]) -> None:
    rows = [row | {"configuration_id": number} for number, row in enumerate(rows)]
    shown, told = few(pa.Table.from_pylist(rows, schema=CONFIGURATIONS), most=8)
    pairs = sorted({(row["task"], row["system"]) for row in rows})
    kept = {row["configuration_id"] for row in rows if row["selected"]}
    for pair in pairs:
        own = [row for row in rows if (row["task"], row["system"]) == pair]
        own.sort(key=lambda row: -1 if row["cv_auc"] is None else row["cv_auc"], reverse=True)
        kept |= {row["configuration_id"] for row in own[: 8 // len(pairs)]}
    assert shown["configuration_id"].to_pylist() == sorted(kept)
    assert f"{len(rows):,} configurations this page has {len(kept):,}" in told[0]


def test_few_are_left_as_they_are() -> None:
    table = pa.Table.from_pylist([{"task": "a", "system": "C-LR"}], schema=CONFIGURATIONS)
    assert few(table) == (table, ())
