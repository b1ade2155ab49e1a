"""A competition played through: labels hidden, predictions sent in, the score entered."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

CREDIT = Path(__file__).parents[1] / "data" / "credit-g.parquet"
SYSTEMS = ("C-AP", "C-LR")
PLANNED = 3 * (2 + 2) + 2
STUDY = """
kind: sweep
name: {name}
tasks:
  - file: train.parquet
    name: credit
    target: class
    positive: bad
    leaderboard: board.csv
    test: {name}.parquet
    {keys}
systems:
  - C-AP: {{iterations: [1, 10], learning_rate: [1.0]}}
  - C-LR: {{l1: [0], l2: [0.1, 1], tolerance: [1.0e-7], memory: [20]}}
folds: 3
sandbox: {{cpus: 1, memory: 2GB, seconds: 600}}
"""


def read(file: Path) -> list[list[str]]:
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


class Played(NamedTuple):
    """Two runs in a folder, the test rows, and what the report on the hidden ones said."""

    folder: Any
    test: pd.DataFrame
    said: str


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, make_folder: Any) -> Played:
    """The labelled study and the one with hidden labels, run."""
    folder = make_folder(tmp_path_factory.mktemp("competition"))
    rows = pd.read_parquet(CREDIT).sample(frac=1, random_state=0).reset_index(drop=True)
    test = rows[700:].reset_index(drop=True)
    rows[:700].to_parquet(folder.path / "train.parquet")
    test.to_parquet(folder.path / "labelled.parquet")
    hidden = test.drop(columns="class").assign(number=[f"{i:05d}" for i in range(len(test))])
    hidden.to_parquet(folder.path / "hidden.parquet")
    (folder.path / "board.csv").write_text("score\n0.99\n0.6\n0.5\n0.4\n")
    for name, keys in (("labelled", ""), ("hidden", "id: number\n    submission: [Id, Bad]")):
        study = folder.study(STUDY.format(name=name, keys=keys), f"{name}.yaml")
        said = folder.sweep(study, name)
        assert said["outcomes"] == {"ok": PLANNED}
    done = folder.run("report", "--results", "hidden")
    assert done.returncode == 0, done.stderr
    return Played(folder, test, done.stdout)


def test_the_files_score_what_the_labelled_study_scores(played: Played) -> None:
    folder, test, _ = played
    with_labels = {
        row["system"]: row["score"]
        for row in folder.query("labelled", "select system, score from attempts where fold is null")
    }
    places = folder.path / "hidden" / "report" / "submissions" / "credit"
    assert sorted(file.stem for file in places.iterdir()) == list(SYSTEMS)
    for system in SYSTEMS:
        header, *lines = read(places / f"{system}.csv")
        assert header == ["Id", "Bad"]
        assert [name for name, _ in lines] == [f"{i:05d}" for i in range(len(test))]
        found = [float(value) for _, value in lines]
        assert roc_auc_score(test["class"] == "bad", found) == pytest.approx(
            with_labels[system], abs=1e-15
        )
        assert 0 <= min(found) < max(found) <= 1


def test_hidden_labels_change_no_other_score(played: Played) -> None:
    folder, _, _ = played
    sql = "select system, configuration, fold, score from attempts where stage = 'cv' order by all"
    assert folder.query("hidden", sql) == folder.query("labelled", sql)
    refits = folder.query(
        "hidden", "select outcome, reason, score, fit_seconds > 0 as timed from attempts where"
        " stage = 'test'"
    )  # fmt: skip
    assert refits == [{"outcome": "ok", "reason": None, "score": None, "timed": True}] * 2
    again = folder.sweep(folder.path / "hidden.yaml", "hidden")
    assert (again["computed"], again["reused"]) == (0, PLANNED)
    assert folder.run("results", "check", "--results", "hidden").returncode == 0


def test_a_score_is_awaited_until_it_is_entered(played: Played) -> None:
    folder, _, said = played
    assert said.count("awaited") == 2
    assert "runner data score credit C-AP SCORE --results hidden" in said
    answers = folder.path / "hidden" / "report" / "answers.txt"
    assert "Scores on credit are awaited for C-AP, C-LR" in answers.read_text()

    command = ("data", "score", "credit", "C-AP", "0.7", "--results", "hidden")
    assert folder.run(*command).returncode == 0
    report = json.loads(folder.run("report", "--results", "hidden", "--json").stdout)
    entered = {found["system"]: found["entered"] for found in report["submissions"]}
    assert entered == {"C-AP": 0.7, "C-LR": None}
    assert "awaited for C-LR:" in answers.read_text()
    header, *lines = read(folder.path / "hidden" / "report" / "tables" / "table8.csv")
    (row,) = (line for line in lines if "C-AP" in line)
    found = dict(zip(header, row, strict=True))
    assert (found["dataset"], found["auc"], found["rank"]) == ("credit", "0.7", "2")
