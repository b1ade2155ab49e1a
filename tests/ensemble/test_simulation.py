"""Simulations run as a user runs them, on a real Ray with real sandboxes."""

from __future__ import annotations

import csv
import json
import os
import signal
import statistics
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from sklearn.metrics import roc_auc_score

from runner.ensemble.original import ORDER, Asked, initial_state, simulate
from runner.ensemble.protocols import score
from runner.ensemble.registry import TECHNIQUES
from runner.metatask import Metatask, formats
from tests.ensemble.conftest import made
from tests.sweep.conftest import Folder

FOLDS = 4
STUDY = """
kind: ensembles
name: small
metatasks: [metatask_two.arrow, metatask_three.json]
techniques: [SBA, VBA, Voting, ES: {iterations: 5}, Stacking]
sandbox: {cpus: 1, memory: 1GB, seconds: 60}
"""
PLANNED = 2 * 5 * FOLDS

OWN = '''
"""A user's techniques: they know nothing of this package."""
import time
from pathlib import Path


class Mean:
    """The mean of the confidences."""

    def __init__(self, seconds=0.0):
        self.seconds = seconds

    def fit(self, confidences, predictions, y, X=None):
        time.sleep(self.seconds)
        if len(y) == 29:
            raise RuntimeError("29 rows bring bad luck")

    def predict(self, confidences, predictions, X=None):
        return confidences.mean(axis=0)
'''


@dataclass(frozen=True)
class Metatasks:
    """A folder with two metatasks, one in either format."""

    folder: Folder
    two: Metatask
    three: Metatask

    def simulate(self, study: Path, results: str, *arguments: str, **more: Any) -> dict[str, Any]:
        done = self.attempt(study, results, *arguments, **more)
        assert done.returncode == 0, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def attempt(
        self, study: Path, results: str, *arguments: str, **more: Any
    ) -> subprocess.CompletedProcess[str]:
        return self.folder.run(
            "metatask", "simulate", study, "--results", results, "--json", *arguments, **more
        )

    def metatask(self, name: str) -> Metatask:
        return {"two": self.two, "three": self.three}[name]


def prepared(path: Path) -> Metatasks:
    two, three = replace(made(2, seed=1), name="two"), replace(made(3), name="three")
    formats.save(two, path, "arrow")
    formats.save(three, path, "original")
    return Metatasks(Folder(path), two, three)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Metatasks, Path, dict[str, Any]]:
    """The small study, run once and left alone."""
    here = prepared(tmp_path_factory.mktemp("undisturbed"))
    study = here.folder.study(STUDY)
    return here, study, here.simulate(study, "results")


@pytest.fixture
def here(tmp_path: Path) -> Metatasks:
    return prepared(tmp_path)


def test_every_technique_is_scored_on_every_fold(undisturbed: Any) -> None:
    here, _, said = undisturbed
    assert said == {
        "planned": PLANNED,
        "reused": 0,
        "computed": PLANNED,
        "outcomes": {"ok": PLANNED},
    }
    rows = here.folder.query(
        "results",
        "select task, system, list(fold order by fold) as folds, "
        "any_value(stage || ' ' || protocol || ' ' || metric) as how, "
        "any_value(configuration) as configuration "
        "from evaluations group by all order by task, system",
    )
    assert [(row["task"], row["system"]) for row in rows] == [
        (task, system)
        for task in ("three", "two")
        for system in ("ES", "SBA", "Stacking", "VBA", "Voting")
    ]
    assert all(row["folds"] == list(range(FOLDS)) for row in rows)
    assert {row["how"] for row in rows} == {"simulation corrected auc"}
    (iterations,) = {
        json.loads(row["configuration"])["iterations"] for row in rows if row["system"] == "ES"
    }
    assert iterations == 5


def test_a_score_is_that_of_the_kept_predictions(undisturbed: Any) -> None:
    here, _, _ = undisturbed
    rows = here.folder.query(
        "results",
        "select task, fold, score, row_ids, classes, confidences, labels "
        "from evaluations join predictions using (key)",
    )
    assert len(rows) == PLANNED
    for row in rows:
        metatask = here.metatask(row["task"])
        y = metatask.labels[row["row_ids"]]
        confidences = np.array(row["confidences"]).reshape(len(y), -1)
        assert row["classes"] == list(metatask.classes)
        assert set(row["labels"]) <= set(metatask.classes)
        assert {int(metatask.folds[place]) for place in row["row_ids"]} == {row["fold"]}
        hot = np.eye(len(metatask.classes))[y]
        expected = (
            roc_auc_score(y, confidences[:, 1])
            if len(metatask.classes) == 2
            else roc_auc_score(hot, confidences, average="weighted")
        )
        # Kept as 32 bits, where scores were of 64.
        assert row["score"] == pytest.approx(expected, abs=2e-3)


def test_nothing_is_computed_twice_whatever_the_metatasks_format(undisturbed: Any) -> None:
    here, study, _ = undisturbed
    assert here.simulate(study, "results")["computed"] == 0
    other = prepared(here.folder.path / "other")
    formats.save(other.three, other.folder.path, "arrow")
    text = STUDY.replace("metatask_three.json", "metatask_three.arrow")
    said = other.simulate(
        other.folder.study(text.replace(", Stacking]", ", Stacking, DES]")),
        str(here.folder.path / "results"),
    )
    assert (said["reused"], said["computed"]) == (PLANNED, 2 * FOLDS)


def test_one_slot_gives_the_same_bits_as_two(undisturbed: Any, here: Metatasks) -> None:
    original, _, _ = undisturbed
    core = min(os.sched_getaffinity(0))
    here.simulate(
        here.folder.study(STUDY), "one", preexec_fn=lambda: os.sched_setaffinity(0, {core})
    )
    found = original.folder.scores("results")
    assert here.folder.scores("one").items() <= found.items()


def test_a_killed_run_loses_only_the_work_in_flight(here: Metatasks) -> None:
    (here.folder.path / "own.py").write_text(OWN)
    study = here.folder.study(
        "kind: ensembles\nname: slow\nmetatasks: ['metatask_*.arrow']\n"
        "techniques: [{technique: 'own:Mean', name: one, parameters: {seconds: 0.7}},\n"
        "  {technique: 'own:Mean', name: other, parameters: {seconds: 0.9}}]\n"
    )
    driver = here.folder.start("metatask", "simulate", study, "--results", "killed")
    _wait_for_rows(here.folder, "killed", 2)
    family = psutil.Process(driver.pid).children(recursive=True)
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    _, alive = psutil.wait_procs(family, timeout=30)
    assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []
    kept = here.folder.scores("killed")
    assert 2 <= len(kept) < 2 * FOLDS
    said = here.simulate(study, "killed")
    assert said["reused"] >= len(kept)
    assert said["reused"] + said["computed"] == 2 * FOLDS
    assert kept.items() <= here.folder.scores("killed").items()


def test_a_technique_that_fails_on_a_fold_is_an_outcome(here: Metatasks) -> None:
    (here.folder.path / "own.py").write_text(OWN)
    folds = here.two.folds.copy()
    folds[np.flatnonzero(folds == 1)[:2]] = -1
    formats.save(replace(here.two, folds=folds, validation={}), here.folder.path)
    study = here.folder.study(
        "kind: ensembles\nname: own\nmetatasks: [metatask_two.arrow]\n"
        "techniques: ['own:Mean', SBA, VBA]\n"
    )
    said = here.simulate(study, "results")
    assert said["outcomes"] == {"ok": 3 * FOLDS - 1, "error": 1}
    (row,) = here.folder.query(
        "results", "select system, fold, reason, error from evaluations where outcome <> 'ok'"
    )
    assert row == {
        "system": "Mean",
        "fold": 1,
        "reason": "RuntimeError",
        "error": "29 rows bring bad luck",
    }
    assert here.attempt(study, "results", "--fail-on", "error").returncode == 1
    done = here.folder.run("report", "--results", "results")
    assert done.returncode == 0, done.stderr
    assert "Mean on two has no mean: 1 of 4 folds are error" in done.stdout


def test_protocol_paper_shares_one_random_state_over_the_metatasks(here: Metatasks) -> None:
    study = here.folder.study(STUDY.replace(STUDY.split("\n")[4] + "\n", ""))
    said = here.simulate(
        study,
        "results",
        "--protocol",
        "paper",
        "--technique",
        "SBA",
        "--technique",
        "DES",
        "--technique",
        "ES",
    )
    assert said["outcomes"] == {"ok": 3 * 2 * FOLDS}
    rows = here.folder.query("results", "select task, system, fold, score from evaluations")
    found = {(row["task"], row["system"], row["fold"]): row["score"] for row in rows}
    state = initial_state()
    everything = [Asked(name, TECHNIQUES[name]) for name in ORDER]
    expected = {
        (metatask.name, run.name, run.fold): score(
            "hard_auc", run.y, run.run.answer, len(metatask.classes)
        )
        for metatask in (here.two, here.three)
        for run in simulate(metatask, everything, state)
    }
    assert found == {name: expected[name] for name in found}


def test_a_report_has_the_closed_gaps_of_the_scores(undisturbed: Any) -> None:
    here, _, _ = undisturbed
    done = here.folder.run("report", "--results", "results", "--json", "--output", "report")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    means = _means(here.folder.query("results", "select task, system, score from evaluations"))
    gaps = [
        (by_system["ES"] - by_system["SBA"]) / (by_system["VBA"] - by_system["SBA"])
        for by_system in means.values()
    ]
    (row,) = [row for row in document["tables"]["table2"] if row["technique"] == "ES"]
    assert row["mean"] == pytest.approx(statistics.fmean(gaps))
    assert row["std"] == pytest.approx(statistics.stdev(gaps))
    assert (row["tasks"], row["tasks_large"], row["mean_large"]) == (2, 0, None)
    files = {Path(file).relative_to("report").as_posix() for file in document["files"]}
    assert {"index.html", "answers.txt", "tables/table1.csv", "figures/figure1.png"} <= files
    with (here.folder.path / "report/tables/table1.csv").open(newline="") as file:
        assert [line["#instances"] for line in csv.DictReader(file)] == ["240", "240"]
    said = " ".join(document["answers"])
    assert "With 2 tasks no two techniques can be told apart" in said
    assert "what stored predictions save is unknown" in said


def test_protocol_validation_learns_from_training_rows(here: Metatasks) -> None:
    study = here.folder.study(STUDY)
    formats.save(replace(here.three, validation={}), here.folder.path, "original")
    done = here.attempt(study, "results", "--protocol", "validation")
    assert done.returncode == 2
    assert "has no validation predictions at all" in done.stderr
    only = STUDY.replace(", metatask_three.json", "")
    said = here.simulate(here.folder.study(only), "results", "--protocol", "validation")
    assert said["outcomes"] == {"ok": 5 * FOLDS}
    (row,) = here.folder.query(
        "results",
        "select min(len(row_ids)) as least, max(len(row_ids)) as most from predictions",
    )
    # All rows of a fold, not the half of them.
    assert row == {"least": 240 // FOLDS, "most": 240 // FOLDS}


def _means(rows: list[dict[str, Any]]) -> Mapping[str, Mapping[str, float]]:
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        found.setdefault(row["task"], {}).setdefault(row["system"], []).append(row["score"])
    return {
        task: {system: statistics.fmean(scores) for system, scores in by_system.items()}
        for task, by_system in found.items()
    }


def _wait_for_rows(folder: Folder, results: str, count: int) -> None:
    import time

    from runner.store import Store

    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        if (folder.path / results / "attempts/_delta_log").exists():
            rows = Store.open(folder.path / results).query("select count(*) as n from attempts")
            if rows["n"][0].as_py() >= count:
                return
        time.sleep(0.1)
    raise AssertionError("no rows came")
