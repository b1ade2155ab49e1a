"""Refits of more than the selected configuration: which, in which fits, and beside the reports."""

from __future__ import annotations

import json
import statistics
from typing import Any

import pytest

GROWING = """
kind: sweep
name: growing
tasks:
  - sklearn: breast_cancer
folds: 2
systems:
  - C-BDT: {leaves: [2], min_leaf: [1], learning_rate: [0.1, 0.4], trees: [20, 100]}
  - C-LR: {l1: [0, 1], l2: [0.1, 1], memory: [20], tolerance: [1.0e-4]}
sandbox: {cpus: 1, memory: 2GB, seconds: 600}
predictions: true
"""
CV = 2 * (4 + 4)
COLUMNS = "key, stage, system, configuration, configuration_id, score, shared_with"
ROWS = f"select {COLUMNS} from evaluations"


def by_stage(rows: list[dict[str, Any]], stage: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["stage"] == stage]


@pytest.fixture(scope="module")
def grown(make_folder: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, list[Any]]:
    """A study run with ``refit: 1``, then with 2: its folder, and what the runs said and made."""
    folder = make_folder(tmp_path_factory.mktemp("growing"))
    said = []
    for refit in (1, 2):
        study = folder.study(f"{GROWING}refit: {refit}\n")
        said.append(folder.sweep(study, "results"))
        said[-1]["rows"] = folder.query("results", ROWS)
    return folder, said


def test_more_refits_compute_the_new_ones_alone(grown: tuple[Any, list[Any]]) -> None:
    folder, (one, two) = grown
    assert (one["planned"], one["computed"]) == (CV + 2, CV + 2)
    assert (two["planned"], two["computed"]) == (CV + 4, 2)
    study = folder.study(f"{GROWING}refit: all\n", "all.yaml")
    plan = folder.run("sweep", study, "--results", "results", "--plan", "--json")
    outlook = json.loads(plan.stdout)
    assert (outlook["planned"], outlook["reused"]) == (CV + 8, CV + 4)


def test_the_best_of_each_system_are_refitted(grown: tuple[Any, list[Any]]) -> None:
    _, (_, two) = grown
    for system in ("C-BDT", "C-LR"):
        scores: dict[int, list[float]] = {}
        own = [row for row in two["rows"] if row["system"] == system]
        for row in by_stage(own, "cv"):
            scores.setdefault(row["configuration_id"], []).append(row["score"])
        order = sorted(scores, key=lambda number: (-statistics.fmean(scores[number]), number))
        assert {row["configuration_id"] for row in by_stage(own, "test")} == set(order[:2])


def test_refits_share_fits_and_leave_report_and_bits_as_they_are(
    grown: tuple[Any, list[Any]], folder: Any
) -> None:
    _, (one, two) = grown
    said = folder.sweep(folder.study(f"{GROWING}refit: all\n"), "all")
    assert said["planned"] == said["computed"] == CV + 8
    rows = folder.query("all", ROWS)
    scores = {row["key"]: row["score"] for row in rows}
    assert {row["key"]: scores[row["key"]] for row in two["rows"]} == {
        row["key"]: row["score"] for row in two["rows"]
    }
    tests = by_stage(rows, "test")
    assert {row["shared_with"] for row in tests if row["system"] == "C-BDT"} == {2}
    counted = "select count(*) as n from predictions join evaluations using (key)"
    assert folder.query("all", counted) == [{"n": CV + 8}]

    done = folder.run("report", "--results", "all", "--json")
    assert done.returncode == 0, done.stderr
    selected = {row["system"]: row["score"] for row in by_stage(one["rows"], "test")}
    summary = json.loads(done.stdout)["summary"]
    assert {row["system"]: row["test_auc"] for row in summary} == selected
