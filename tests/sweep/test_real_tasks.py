"""Real data with gaps, many rows, and columns of thousands of levels, run to the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[3] / "shared/data/datasets"
AMAZON_COLUMNS = (
    "RESOURCE, MGR_ID, ROLE_ROLLUP_1, ROLE_ROLLUP_2, ROLE_DEPTNAME, ROLE_TITLE, "
    "ROLE_FAMILY_DESC, ROLE_FAMILY, ROLE_CODE"
)

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data sets aren't here")


def test_gaps_many_rows_and_thousands_of_levels(folder: Any) -> None:
    amazon = f"{DATA}/kaggle-amazon-employee-access-train.parquet"
    study = folder.study(
        "kind: sweep\nname: real\ntasks:\n"
        f"  - {{file: {DATA}/credit-approval.parquet, target: class}}\n"
        f"  - {{file: {DATA}/bank-marketing.parquet, target: y}}\n"
        f"  - {{file: {amazon}, name: codes, target: ACTION, categorical: [{AMAZON_COLUMNS}]}}\n"
        f"  - {{file: {amazon}, name: numbers, target: ACTION}}\n"
        "folds: 3\n"
        "systems:\n"
        "  - C-BDT: {leaves: [8], min_leaf: [10], learning_rate: [0.1], trees: [20, 100]}\n"
        "  - C-LR: {tolerance: [1.0e-4], l1: [0.1], l2: [1], memory: [20]}\n"
    )
    said = folder.sweep(study, "real")
    assert said["outcomes"] == {"ok": 4 * (3 * 3 + 2)}
    rows = folder.query("real", "select task, system, score from evaluations where stage = 'test'")
    scores = {(row["task"], row["system"]): row["score"] for row in rows}
    assert scores["credit-approval", "C-BDT"] > 0.9
    assert scores["bank-marketing", "C-BDT"] > 0.9
    # As numbers the departments' codes say little to a linear model; as names they do.
    assert scores["codes", "C-LR"] > scores["numbers", "C-LR"] + 0.1
