"""From a sweep to a metatask to ensembles, as a user does it, against plain readings of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import roc_auc_score

from runner.cli.main import main
from runner.metatask import Metatask
from runner.metatask.files import verify
from runner.store import Run, Store, Wanted

DATA = Path(__file__).parents[1] / "data" / "credit-approval.parquet"
STUDY = """
kind: sweep
name: credit
tasks:
  - {file: data/approval.parquet, target: class}
folds: 3
systems:
  - C-BDT: {leaves: [2, 8], min_leaf: [10], learning_rate: [0.1], trees: [20, 100]}
  - C-LR: {l1: [0], l2: [0.1, 1], memory: [5, 20], tolerance: [1.0e-4]}
sandbox: {cpus: 1, memory: 2GB, seconds: 600}
predictions: true
refit: 3
repeats: 2
"""


@pytest.fixture(scope="module")
def swept(make_folder: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A folder with a sweep's results and its data."""
    folder = make_folder(tmp_path_factory.mktemp("swept"))
    (folder.path / "data").mkdir()
    shutil.copy(DATA, folder.path / "data" / "approval.parquet")
    folder.sweep(folder.study(STUDY), "results")
    return folder


@pytest.fixture(scope="module")
def built(swept: Any) -> tuple[Metatask, dict[str, Any]]:
    """The metatask of its best five, and what the command said of it."""
    document = build(swept, "--top", "5", "--output", "metatasks")
    (said,) = document["built"]
    return verify(swept.path / said["path"]), said


def build(folder: Any, *arguments: str) -> dict[str, Any]:
    done = folder.run("metatask", "build", "--from-results", "results", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def evaluations(folder: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = folder.query(
        "results",
        "select stage, system, configuration_id, fold, score, fit_seconds, row_ids, classes, "
        "confidences, labels from evaluations join predictions using (key) where repeat = 0",
    )
    return rows


def best(rows: list[dict[str, Any]], most: int) -> list[tuple[str, int]]:
    """System and number of the configurations of the highest mean AUC, best first."""
    scores: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        if row["stage"] == "cv":
            scores.setdefault((row["system"], row["configuration_id"]), []).append(row["score"])
    return sorted(scores, key=lambda name: (-np.mean(scores[name]), name))[:most]


def test_the_models_are_the_best_of_all_systems(swept: Any, built: Any) -> None:
    metatask, said = built
    names = best(evaluations(swept), 5)
    assert [model.name for model in metatask.models] == [f"{one}-{number}" for one, number in names]
    assert said["models"] == [model.name for model in metatask.models]
    assert not any(model.findings for model in metatask.models)


def test_predictions_are_the_stores_row_by_row(swept: Any, built: Any) -> None:
    metatask, _ = built
    rows = evaluations(swept)
    assert metatask.fold_numbers == (0,)
    learnt = metatask.validation[0]
    together = np.sort(np.concatenate([metatask.tested.rows, learnt.rows]))
    np.testing.assert_array_equal(together, np.arange(690))
    np.testing.assert_array_equal(np.flatnonzero(metatask.folds == 0), metatask.tested.rows)
    for number, model in enumerate(metatask.models):
        own = [
            row
            for row in rows
            if (row["system"], row["configuration_id"])
            == (model.origin["system"], model.origin["configuration_id"])
        ]
        assert len(own) == 4
        seconds = sum(row["fit_seconds"] for row in own)
        assert model.train_seconds == pytest.approx(seconds, abs=1e-12)
        for row in own:
            stored = metatask.tested if row["stage"] == "test" else learnt
            places = np.searchsorted(stored.rows, row["row_ids"])
            np.testing.assert_array_equal(stored.rows[places], row["row_ids"])
            order = [row["classes"].index(name) for name in metatask.classes]
            confidences = np.reshape(row["confidences"], (-1, 2))[:, order]
            np.testing.assert_allclose(stored.confidences[number, places], confidences, atol=1e-7)
            hard = [metatask.classes[code] for code in stored.predictions[number, places]]
            assert hard == row["labels"]
            y = metatask.labels[row["row_ids"]]
            positive = metatask.classes.index(row["classes"][1])
            area = roc_auc_score(y == positive, stored.confidences[number, places, positive])
            assert area == pytest.approx(row["score"], abs=1e-12)


def test_the_table_is_the_files(built: Any) -> None:
    metatask, _ = built
    table = pq.read_table(DATA)
    assert metatask.target == "class"
    labels = [str(label) for label in table["class"].to_pylist()]
    assert [metatask.classes[code] for code in metatask.labels] == labels
    assert metatask.features.column_names == [n for n in table.column_names if n != "class"]
    assert any(metatask.features[name].null_count for name in metatask.categorical)
    for name in metatask.features.column_names:
        ours, theirs = metatask.features[name].to_pylist(), table[name].to_pylist()
        if name in metatask.categorical:
            theirs = [None if value is None else str(value) for value in theirs]
        assert ours == theirs


def test_techniques_learn_out_of_fold_and_are_scored_on_the_test_rows(
    swept: Any, built: Any
) -> None:
    metatask, said = built
    command = ("metatask", "simulate", said["path"], "--protocol", "validation", "--json")
    done = swept.run(*command, "--technique", "SBA", "--technique", "ES", "--results", "ensembles")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcomes"] == {"ok": 2}
    (sba,) = swept.query(
        "ensembles",
        "select score, row_ids from evaluations join predictions using (key) where system = 'SBA'",
    )
    assert sba["row_ids"] == metatask.tested.rows.tolist()
    learnt = metatask.validation[0]
    pooled = [roc_auc_score(metatask.labels[learnt.rows], one[:, 1]) for one in learnt.confidences]
    chosen = metatask.models[int(np.argmax(pooled))]
    assert sba["score"] == pytest.approx(chosen.origin["test_auc"], abs=1e-12)


def test_fewer_refits_than_asked_for_are_taken_and_told(swept: Any) -> None:
    (said,) = build(swept, "--task", "approval", "--output", "all")["built"]
    assert len(said["models"]) == 6
    assert any("6 models, not 50" in note and "refit: all" in note for note in said["notes"])
    names = {name.rpartition("-")[0] for name in said["models"]}
    assert names == {"C-BDT", "C-LR"}


@pytest.fixture
def refused(swept: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Callable[..., str]:
    """Gives the line by which a build is refused."""
    monkeypatch.chdir(swept.path)

    def run(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["metatask", "build", "--output", "none", *arguments])
        assert ended.value.code == 2
        message: str = capsys.readouterr().err.strip().splitlines()[-1]
        assert message.startswith(("error: ", "Error: "))
        return message

    return run


def test_what_cannot_be_built_is_told_in_one_line(refused: Callable[..., str]) -> None:
    results = ("--from-results", "results")
    assert "did you mean 'approval'?" in refused(*results, "--task", "aproval")
    assert "there is no run and no study 0" in refused(*results, "--run", "0")
    assert "leave them out" in refused(*results, "--openml-task", "31")
    assert "name the results" in refused("--task", "approval", "--openml-task", "31")
    assert "ranked by their AUC" in refused(*results, "--metric", "predictive_accuracy")
    assert "holds no results" in refused("--from-results", "data")


def test_moved_and_changed_data_are_told(swept: Any, refused: Callable[..., str]) -> None:
    here, there = swept.path / "data", swept.path / "elsewhere"
    here.rename(there)
    try:
        message = refused("--from-results", "results")
        assert "study.yaml:5: " in message
        assert "name the study's file with --study" in message
        moved = swept.study(STUDY.replace("data/", "elsewhere/"), "moved.yaml")
        again = build(swept, "--study", str(moved), "--top", "5", "--output", "again")
        assert verify(swept.path / again["built"][0]["path"])
        here.mkdir()
        table = pq.read_table(there / "approval.parquet")
        pq.write_table(table.slice(1), here / "approval.parquet")
        message = refused("--from-results", "results")
        assert "isn't the data that its rows were computed on" in message
    finally:
        shutil.rmtree(here, ignore_errors=True)
        there.rename(here)


def test_without_predictions_the_key_to_set_is_named(
    swept: Any, refused: Callable[..., str]
) -> None:
    shutil.copytree(swept.path / "results", swept.path / "unpredicted")
    shutil.rmtree(swept.path / "unpredicted" / "predictions")
    Store.create(swept.path / "unpredicted")
    message = refused("--from-results", "unpredicted")
    assert "study.yaml: approval: no predictions are stored; say `predictions: true`" in message


def test_a_run_that_ended_before_its_refits_is_told_to_go_on(
    swept: Any, refused: Callable[..., str]
) -> None:
    shutil.copytree(swept.path / "results", swept.path / "interrupted")
    store = Store.open(swept.path / "interrupted")
    (run,) = store.query("from runs").to_pylist()
    planned, wanted = iter(run["planned_keys"]), []
    for group in json.loads(run["plan"]):
        group["keys"] = tuple(next(planned) for _ in range(group["keys"]))
        group["configuration_ids"] = tuple(group["configuration_ids"])
        wanted.append(Wanted(**group))
    store.begin_run(
        Run(
            "later",
            run["study"],
            run["config"],
            tuple(wanted),
            run["command"],
            datetime.now(UTC),
            {},
            run["machine"],
            config_path=run["config_path"],
        )
    )
    message = refused("--from-results", "interrupted")
    assert "no configuration has the predictions of all folds and of the test rows" in message
    assert f"run `runner sweep {run['config_path']}` again" in message
    assert build(swept, "--run", run["run_id"], "--output", "whole")["built"]
