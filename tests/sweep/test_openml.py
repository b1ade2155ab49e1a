"""A sweep on a task of OpenML: fetched once, then run without a network on the task's own folds."""

from __future__ import annotations

import csv
import json
from typing import Any

import numpy as np
import pytest
from openml_server import RECORDED, OpenmlServer
from sklearn.metrics import roc_auc_score

from runner.data import OpenmlSource, load, split
from runner.errors import InputError
from runner.metatask.files import read

STUDY = """
kind: sweep
name: flowers
tasks:
  - openml: 59
    positive: Iris-virginica
folds: 3
holdout: 0.3
predictions: true
systems:
  - C-LR: {l1: [0], l2: [1], tolerance: [1.0e-7], memory: [20]}
sandbox: {cpus: 1, memory: 2GB, seconds: 600}
"""


def test_own_folds_are_the_split(configured_openml: OpenmlServer) -> None:
    task = load(OpenmlSource(59, "Iris-virginica"), "flowers")
    parts = split(task, folds=3, holdout=0.3, seed=0)
    assert parts.folds == 10
    assert len(parts.test_rows) == 0
    assert np.bincount(parts.fold).tolist() == [15] * 10
    assert (task.positive, task.negative) == ("Iris-virginica", "not Iris-virginica")
    np.testing.assert_array_equal(task.y, np.arange(150) >= 100)


def test_a_multi_class_task_is_refused_in_one_line(configured_openml: OpenmlServer) -> None:
    with pytest.raises(InputError, match=r"3 values .* sweeps are binary") as error:
        load(OpenmlSource(59), "flowers")
    assert "\n" not in str(error.value)


def test_a_sweep_without_a_network(
    tmp_path: Any, make_folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(tmp_path)
    study = folder.study(STUDY)
    with OpenmlServer() as server:
        monkeypatch.setenv("OPENML_SERVER", server.url)
        monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        done = folder.run("data", "fetch", study, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["fetched"] == 1
    done = folder.run("sweep", study, "--results", "out", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said == {"planned": 10, "reused": 0, "computed": 10, "outcomes": {"ok": 10}}
    assert "openml-59 brings 10 folds of its own" in done.stderr

    scores = stored_scores(folder)
    done = folder.run("report", "--results", "out")
    assert done.returncode == 0, done.stderr
    assert "its AUC is that of cross-validation" in done.stdout
    with next((tmp_path / "out" / "report").rglob("summary.csv")).open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert float(row["cv_auc"]) == pytest.approx(np.mean(scores), abs=1e-12)
    assert (row["test_auc"], row["test_outcome"]) == ("", "")
    again = folder.run("sweep", study, "--results", "out", "--json")
    assert json.loads(again.stdout)["reused"] == 10
    metatask_has_own_folds(folder, scores)


def stored_scores(folder: Any) -> list[float]:
    """The folds' scores, after comparing rows, labels and scores with the recordings."""
    sql = (
        "select fold, score, row_ids, classes, confidences from evaluations "
        "join predictions using (key) order by fold"
    )
    done = folder.run("query", sql, "--results", "out", "--format", "json")
    rows = json.loads(done.stdout)
    virginica = np.arange(150) >= 100
    for row, tested in zip(rows, recorded_folds(), strict=True):
        assert row["row_ids"] == tested
        confidences = np.reshape(row["confidences"], (-1, 2))
        own = confidences[:, row["classes"].index("Iris-virginica")]
        assert row["score"] == pytest.approx(roc_auc_score(virginica[tested], own), abs=1e-12)
    return [row["score"] for row in rows]


def metatask_has_own_folds(folder: Any, scores: list[float]) -> None:
    """A metatask of the sweep has the task's folds, each as the sweep scored it."""
    done = folder.run("metatask", "build", "--from-results", "out", "--output", "metatasks")
    assert done.returncode == 0, done.stderr
    metatask = read(folder.path / "metatasks" / "metatask_openml-59.arrow")
    assert (metatask.dataset, metatask.target) == ("iris", "class")
    assert [np.flatnonzero(metatask.folds == fold).tolist() for fold in range(10)] == (
        recorded_folds()
    )
    assert not metatask.validation
    assert metatask.tested.confidences.shape == (1, 150, 2)
    own = metatask.classes.index("Iris-virginica")
    for fold, score in enumerate(scores):
        rows = metatask.folds == fold
        area = roc_auc_score(metatask.labels[rows], metatask.tested.confidences[0, rows, own])
        assert (area if own else 1 - area) == pytest.approx(score, abs=1e-12)


def recorded_folds() -> list[list[int]]:
    """The rows that each fold tests, line by line from the file."""
    found: dict[int, list[int]] = {}
    for line in (RECORDED / "tasks" / "59" / "datasplits.arff").read_text().splitlines():
        if line.startswith("TEST"):
            _, row, _, fold = line.split(",")
            found.setdefault(int(fold), []).append(int(row))
    return [sorted(found[fold]) for fold in sorted(found)]
