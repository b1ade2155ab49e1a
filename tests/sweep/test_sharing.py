"""Every system with shared and with separate fits, each swept into a folder of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from runner.config import PLATFORMS
from runner.models import FAMILIES

EIGHT = PLATFORMS["Azure"]
CV_ROWS = 5 * 460
CV_FITS = 5 * 129
ROWS = "select system, stage, configuration, fold, score, outcome, shared_with from attempts"

# XGB's grid is no part of the 460, and as dear as all of them.
STUDY = f"""
kind: sweep
name: all
tasks: [{{sklearn: breast_cancer}}]
folds: 5
systems: [{", ".join(EIGHT)}, A-LR, XGB: {{leaves: [2, 32], min_child_weight: [1]}}]
sandbox: {{cpus: 1, memory: 2GB, seconds: 600}}
share_fits: SHARE
"""


def rows(folder: Any, share: str) -> list[dict[str, Any]]:
    """Sweeps; what the store then holds."""
    said = folder.sweep(folder.study(STUDY.replace("SHARE", share)), share)
    assert said["reused"] == 0
    assert said["outcomes"] == {"ok": said["planned"]}
    found: list[dict[str, Any]] = folder.query(share, ROWS)
    assert len(found) == said["planned"]
    return found


def scores(found: list[dict[str, Any]]) -> Mapping[tuple[Any, ...], float]:
    columns = ("system", "stage", "configuration", "fold")
    return {tuple(row[column] for column in columns): row["score"] for row in found}


# Above a minute also on a quiet machine.
@pytest.mark.slow
def test_all_systems_score_the_same_with_shared_and_separate_fits(folder: Any) -> None:
    shared, separate = rows(folder, "true"), rows(folder, "false")
    assert {row["system"] for row in shared} == set(FAMILIES)
    assert len(scores(shared)) == len(shared)
    # Equal to the last bit: scores are doubles, and JSON carries them whole.
    assert scores(shared) == scores(separate)
    assert {row["shared_with"] for row in separate} == {1}
    cv = [row for row in shared if row["stage"] == "cv" and row["system"] in EIGHT]
    assert len(cv) == CV_ROWS
    assert math.fsum(1 / row["shared_with"] for row in cv) == pytest.approx(CV_FITS)
