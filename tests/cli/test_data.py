"""``runner data``: the tasks of a study as people and as programs read them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.cli import main

DATA = Path(__file__).parents[1] / "data"


def status_of(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture
def study(tmp_path: Path) -> str:
    (tmp_path / "scores.csv").write_text("score\n0.9\n0.8\n0.8\n")
    file = tmp_path / "study.yaml"
    file.write_text(
        f"""\
kind: sweep
name: study
tasks:
  - file: {DATA / "credit-g.parquet"}
    target: class
    leaderboard: scores.csv
    teams: 4
  - sklearn: breast_cancer
    winning: 0.99
folds: 3
systems: [C-LR]
"""
    )
    return str(file)


def test_list(study: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("data", "list", study, "--json") == 0
    first, second = json.loads(capsys.readouterr().out)
    assert {name: first[name] for name in ("name", "rows", "test_rows", "positive")} == {
        "name": "credit-g", "rows": 1000, "test_rows": 200, "positive": "bad"
    }  # fmt: skip
    assert (len(first["folds"]), len(first["columns"]), first["missing"]) == (3, 20, 0)
    assert first["classes"] == {"good": 700, "bad": 300}
    assert first["leaderboard"] == {"teams": 4, "scores": 3, "best": 0.9}
    assert (first["winning"], second["winning"], second["leaderboard"]) == (0.9, 0.99, None)
    assert status_of("data", "list", study) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if "credit-g" in line]
    assert "good / bad" in line
    assert first["fingerprint"][:12] in line


def test_show(study: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("data", "show", study, "credit-g") == 0
    out = capsys.readouterr().out
    assert "1000: 800 for training, 200 for the test" in out
    assert "4 teams (3 scores known), scores from 0.9 down to 0.8" in out
    assert "credit_amount" in out
    assert "breast_cancer" not in out
    assert status_of("data", "show", study, "credit-g", "--json") == 0
    assert json.loads(capsys.readouterr().out)["name"] == "credit-g"
    assert status_of("data", "show", study, "--json") == 0
    assert len(json.loads(capsys.readouterr().out)) == 2


def test_what_is_not_there_is_told_with_its_place(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of("data", "show", study, "credit") == 2
    assert "did you mean 'credit-g'?" in capsys.readouterr().err
    Path(study).with_name("scores.csv").unlink()
    assert status_of("data", "list", study) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {study}:6: there is no leaderboard")
