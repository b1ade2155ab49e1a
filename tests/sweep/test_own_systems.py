"""Users' own classes through the whole engine: the command, Ray, sandboxes, the store, a report."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from runner.config import load_study, load_tasks
from runner.metrics import auc

CENTRES = """\
import numpy as np

print("imported")

class Centres:
    def __init__(self, power=2.0):
        self.power = power

    def fit(self, X, y):
        if self.power < 0:
            raise ValueError("power is negative")
        self.centres = [X[y == c].mean(axis=0) for c in (0, 1)]
        self.spread = X.std(axis=0)

    def decision_function(self, X):
        far = [(abs((X - c) / self.spread) ** self.power).sum(axis=1) for c in self.centres]
        return far[0] - far[1]
"""

STUDY = """\
kind: sweep
name: own
tasks: [{sklearn: breast_cancer}]
folds: 2
systems:
  - C-LR@default
  - {estimator: "centres:Centres", name: mine, grid: {power: POWERS}}
  - estimator: "sklearn.ensemble:RandomForestClassifier"
    grid: {n_estimators: [3], max_depth: [2, null]}
sandbox: {cpus: 1, memory: 2GB}
"""

ROWS = """\
select system, configuration, configuration_id, outcome, error, count(*) as rows
from attempts where stage = 'cv' group by all order by 1, 3
"""


def forest_score(study: Path) -> float:
    """Mean AUC over the folds of what scikit-learn itself makes of the second forest."""
    (_,), (split,) = load_tasks(load_study(study))
    X, y = load_breast_cancer(return_X_y=True)
    # The rarer class, malignant, is the positive one; rows of no fold are kept for the test.
    y, fold = 1 - y, split.fold
    scores = []
    for held_out in (0, 1):
        train, test = (fold >= 0) & (fold != held_out), fold == held_out
        forest = RandomForestClassifier(3, random_state=0).fit(X[train], y[train])
        scores.append(auc(y[test].astype(np.uint8), forest.predict_proba(X[test])[:, 1]))
    return float(np.mean(scores))


def test_own_classes_run_resume_and_are_computed_again_when_changed(folder: Any) -> None:
    (folder.path / "studies").mkdir()
    (folder.path / "studies" / "centres.py").write_text(CENTRES)
    study = folder.study(STUDY.replace("POWERS", "[1, -1, 2.0]"), "studies/own.yaml")
    # From another folder than the study's: its module is found all the same.
    first = folder.sweep(study, "results")
    assert first["outcomes"] == {"ok": 13, "error": 2}

    forest = '{"max_depth": null, "n_estimators": 3}'
    (row,) = folder.query(
        "results",
        f"select avg(score) as score from evaluations where stage = 'cv' "
        f"and configuration = '{forest}'",
    )
    assert row["score"] == forest_score(study)
    rows = folder.query("results", ROWS)
    mine = [row for row in rows if row["system"] == "mine"]
    assert [row["configuration"] for row in mine] == [
        '{"power": 1}',
        '{"power": -1}',
        '{"power": 2.0}',
    ]
    assert [row["configuration_id"] for row in mine] == [0, 1, 2]
    assert [row["error"] for row in mine] == [None, "power is negative", None]
    assert {row["system"] for row in rows} == {"C-LR@default", "mine", "RandomForestClassifier"}

    # Another grid of the same class: what was computed serves, under its new number.
    folder.study(STUDY.replace("POWERS", "[2.0, 3, 1]"), "studies/own.yaml")
    second = folder.sweep(study, "results")
    assert second["reused"] >= 10
    assert 2 <= second["computed"] <= 3
    done = folder.run("report", "--results", "results", "--output", "report")
    assert done.returncode == 0, done.stderr
    with (folder.path / "report" / "configurations.csv").open() as file:
        told = [row for row in csv.DictReader(file) if row["system"] == "mine"]
    assert [(row["configuration_id"], row["configuration"]) for row in told] == [
        ("0", '{"power": 2.0}'),
        ("1", '{"power": 3}'),
        ("2", '{"power": 1}'),
    ]

    (folder.path / "studies" / "centres.py").write_text(CENTRES + "# changed\n")
    done = folder.run("sweep", study, "--results", "results", "--plan")
    assert done.returncode == 0, done.stderr
    assert "rows of mine were made with mine " in done.stderr
    assert "--accept-versions keeps them" in done.stderr
