"""AUC, RMSE and F1 from files, by the command."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from runner.cli import main

TERMS = """\
reliability: 0.95
mode: fp-free
adaptivity: full
steps: 3
testset: {name: t, labels: labels.csv}
"""


def write(path: Path, **columns: Any) -> None:
    names = ["id", *columns]
    rows = zip(range(len(next(iter(columns.values())))), *columns.values(), strict=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    path.chmod(0o600)


def ran(folder: Path, condition: str, facts: str) -> int:
    file = folder / "ci.yaml"
    file.write_text(f"condition: {condition}\n{TERMS}{facts}\n")
    arguments = ["--old", str(folder / "old.csv"), "--new", str(folder / "new.csv")]
    with pytest.raises(SystemExit) as ended:
        main(["ci", "test", str(file), *arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    spam = rng.random(6000) < 0.4
    write(tmp_path / "labels.csv", label=np.where(spam, "spam", "ham"))
    for model, gap in (("old", 1.0), ("new", 3.0)):
        scores = spam * gap + rng.normal(0, 1, 6000)
        said = np.where(scores > gap / 2, "spam", "ham")
        write(tmp_path / f"{model}.csv", prediction=said, score=scores)
    return tmp_path


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("auc(n) > 0.9 +/- 0.04", 0),
        ("auc(n) > 0.95 +/- 0.04", 1),
        ("auc(n) - auc(o) > 0.05 +/- 0.1", 0),
        ("f1(n) > 0.8 +/- 0.05 /\\ n - o > 0.05 +/- 0.1 /\\ auc(o) < 0.9 +/- 0.05", 0),
        ("f1(n) / f1(o) > 1.5 +/- 0.1", 3),
    ],
)
def test_scores_stand_beside_predictions(scored: Path, condition: str, status: int) -> None:
    assert ran(scored, condition, "positive: spam") == status


def test_other_scores_are_another_model(scored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    condition = "auc(n) > 0.9 +/- 0.04"
    assert ran(scored, condition, "positive: spam") == 0
    text = (scored / "new.csv").read_text()
    assert ran(scored, condition, "positive: spam") == 0
    assert "step 1 of 3" in capsys.readouterr().out.splitlines()[-1]
    lines = text.splitlines()
    (scored / "new.csv").write_text("\n".join([*lines[:-1], lines[-1].rsplit(",", 1)[0] + ",9.5"]))
    assert ran(scored, condition, "positive: spam") == 0
    assert "step 2 of 3" in capsys.readouterr().out


def test_numbers_for_rmse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    truth = rng.uniform(20, 80, 20_000)
    write(tmp_path / "labels.csv", label=truth)
    write(tmp_path / "new.csv", prediction=truth + rng.normal(0, 4, len(truth)))
    write(tmp_path / "old.csv", prediction=truth)
    condition = "rmse(n) < 10 +/- 2"
    assert ran(tmp_path, condition, "range: [30, 100]") == 3
    assert "outside the stated range" in capsys.readouterr().err
    assert ran(tmp_path, condition, "range: [0, 100]") == 0
    assert "step 1 of 3" in capsys.readouterr().out
    assert ran(tmp_path, condition, "range: [0, 99]") == 0
    assert "step 2 of 3" in capsys.readouterr().out
    assert ran(tmp_path, f"{condition} /\\ n > 0.5 +/- 0.1", "range: [0, 100]") == 2
    assert "two files" in capsys.readouterr().err


CLASSES = ["cat", "dog", "10"]


def test_several_classes_have_a_column_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, 9000)
    write(tmp_path / "labels.csv", label=np.array(CLASSES)[truth])
    noise = {"new": 0.5, "old": 1.5}
    scores = {model: np.eye(3)[truth] + rng.normal(0, s, (9000, 3)) for model, s in noise.items()}
    for model, found in scores.items():
        said = np.array(CLASSES)[found.argmax(axis=1)]
        # In another order than that of the labels.
        columns = {CLASSES[k]: found[:, k] for k in (2, 0, 1)}
        write(tmp_path / f"{model}.csv", prediction=said, **columns)
    expected = {
        model: np.mean([roc_auc_score(truth == k, found[:, k]) for k in range(3)])
        for model, found in scores.items()
    }
    names = "classes: [cat, dog, 10]"
    for over, status in ((-0.11, 0), (-0.09, 1)):
        limit = expected["new"] + over
        assert ran(tmp_path, f"auc(n) > {limit:.6f} +/- 0.1", names) == status
    gain = expected["new"] - expected["old"]
    assert ran(tmp_path, f"auc(n) - auc(o) > {gain - 0.11:.6f} +/- 0.1", names) == 0
    condition = "auc(n) > 0.5 +/- 0.1"
    capsys.readouterr()
    for facts, status, told in (
        ("classes: 3", 2, "give their names"),
        ("classes: [cat, cow, 10]", 3, "the labels are of other classes than the 3"),
        ("classes: [cat, cat, 10]", 2, "names a class twice"),
        ("classes: [cat]", 2, "from 2 to 10000"),
    ):
        assert ran(tmp_path, condition, facts) == status
        assert told in capsys.readouterr().err
    write(tmp_path / "new.csv", prediction=["cat"] * 9000)
    assert ran(tmp_path, condition, names) == 2
    assert "needs a column" in capsys.readouterr().err


def test_scores_that_are_missing(scored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(scored / "new.csv", prediction=["spam"] * 6000)
    assert ran(scored, "auc(n) > 0.9 +/- 0.04", "positive: spam") == 3
    said = capsys.readouterr().err
    assert "not each score is a number; scores have a column 'score' of their own" in said
    write(scored / "new.csv", prediction=["spam"] * 6000, confidence=[0.5] * 6000)
    assert ran(scored, "auc(n) > 0.9 +/- 0.04", "positive: spam") == 2
    assert "score" in capsys.readouterr().err
