"""Ranks among the models that a test set has judged."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.cli import main

FILE = """\
condition: rank(n) <= 2
reliability: 0.95
mode: fp-free
adaptivity: full
steps: 5
testset: {name: t, labels: labels.csv}
"""


def write(path: Path, name: str, values: Any) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["id", name], *enumerate(values)])
    path.chmod(0o600)


def ran(folder: Path, model: str) -> int:
    arguments = [str(folder / "ci.yaml"), "--new", str(folder / f"{model}.csv")]
    with pytest.raises(SystemExit) as ended:
        main(["ci", "test", *arguments])
    return int(ended.value.code or 0)


def test_each_model_is_ranked_among_those_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 4000)
    write(tmp_path / "labels.csv", "label", truth)
    (tmp_path / "ci.yaml").write_text(FILE)
    verdicts = {}
    for model, accuracy in {"a": 0.9, "b": 0.7, "c": 0.8, "d": 0.5, "e": 0.95}.items():
        said = np.where(rng.random(4000) < accuracy, truth, (truth + 1) % 3)
        write(tmp_path / f"{model}.csv", "prediction", said)
        verdicts[model] = ran(tmp_path, model)
    # b is the second of two, c the second of three, d the last of four.
    assert verdicts == {"a": 0, "b": 0, "c": 0, "d": 1, "e": 0}
    assert ran(tmp_path, "d") == 1
    kept = sorted((tmp_path / "ci-ledger").glob("*.models/*.json.gz"))
    assert len(kept) == 5
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    capsys.readouterr()


def test_predictions_that_werent_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "labels.csv", "label", [0, 1] * 500)
    write(tmp_path / "a.csv", "prediction", [0, 1] * 500)
    write(tmp_path / "b.csv", "prediction", [0, 0] * 500)
    (tmp_path / "ci.yaml").write_text(FILE)
    assert ran(tmp_path, "a") == 0
    for path in (tmp_path / "ci-ledger").glob("*.models/*"):
        path.unlink()
    assert ran(tmp_path, "b") == 3
    assert "those of step 1 weren't kept" in capsys.readouterr().err


def test_a_model_that_is_judged_twice_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = np.random.default_rng(0).integers(0, 3, 4000)
    write(tmp_path / "labels.csv", "label", truth)
    file = tmp_path / "ci.yaml"
    for model, wrong in {"a": 400, "b": 1200}.items():
        said = np.where(np.arange(4000) < wrong, (truth + 1) % 3, truth)
        write(tmp_path / f"{model}.csv", "prediction", said)
    file.write_text(FILE.replace("<= 2", "<= 1"))
    assert ran(tmp_path, "a") == 0
    # It isn't behind itself, nor is another one behind it twice.
    file.write_text(FILE.replace("<= 2", "<= 1 +/- 0.5"))
    assert ran(tmp_path, "a") == 0
    file.write_text(FILE)
    assert ran(tmp_path, "b") == 0
    assert "step 3 of 5" in capsys.readouterr().out
