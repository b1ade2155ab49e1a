"""Leaderboards and platforms of a study."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.config import PLATFORMS, Competition, load_leaderboard, load_study, load_tasks
from runner.errors import InputError
from runner.models import FAMILIES

STUDY = """\
kind: sweep
name: study
tasks:
  - sklearn: breast_cancer
    leaderboard: scores.csv
    teams: 5
    winning: 0.91
systems:
  - C-LR
platforms:
  ours: [C-LR, C-BDT]
  theirs: [A-LR]
"""


def study_file(folder: Path, text: str = STUDY) -> Path:
    (folder / "scores.csv").write_text("rank,score\n1,0.95\n2,0.9\n2,0.9\n4,0.8\n")
    path = folder / "study.yaml"
    path.write_text(text)
    return path


def test_a_task_has_a_leaderboard_and_a_study_platforms(tmp_path: Path) -> None:
    study = load_study(study_file(tmp_path))
    assert study.tasks[0].competition == Competition(tmp_path / "scores.csv", 5, 0.91)
    assert study.platforms == {"ours": ("C-LR", "C-BDT"), "theirs": ("A-LR",)}
    board = load_leaderboard(study, 0)
    assert board is not None
    assert (board.teams, board.winning_score, board.rank(0.85)) == (5, 0.91, 4)
    load_tasks(study)


def test_what_is_there_without(tmp_path: Path) -> None:
    text = "\n".join(line for line in STUDY.splitlines()[:9] if "scores" not in line)
    study = load_study(study_file(tmp_path, text.replace("    teams: 5\n", "")))
    assert study.tasks[0].competition == Competition(None, None, 0.91)
    assert load_leaderboard(study, 0) is None
    assert study.platforms == PLATFORMS
    assert {system for members in PLATFORMS.values() for system in members} <= {
        *FAMILIES, "C-DF", "C-DJ"
    }  # fmt: skip
    study = load_study(study_file(tmp_path, STUDY[: STUDY.index("    lead")] + "systems: [C-LR]"))
    assert study.tasks[0].competition is None


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("scores.csv", "score.csv", 5, ["no leaderboard", "score.csv", "'scores.csv'"]),
        ("scores.csv", "", 5, ["leaderboard", "no value"]),
        ("    leaderboard: scores.csv\n", "", 5, ["teams", "`leaderboard`"]),
        ("teams: 5", "teams: 3", 6, ["at least 4", "not 3"]),
        ("teams: 5", "teams: many", 6, ["teams must be a whole number"]),
        ("0.91", "91", 7, ["winning must be at most 1", "91"]),
        ("[A-LR]", "[A-RL]", 12, ["'A-RL'", "'A-LR'"]),
        ("[A-LR]", "[]", 12, ["theirs is empty"]),
        ("[A-LR]", "A-LR", 12, ["theirs must be a list"]),
        ("[C-LR, C-BDT]", "[C-LR, C-LR]", 11, ["'C-LR' twice"]),
        ("  - sklearn: breast_cancer", "  - {sklearn: breast_cancer, team: 3}", 4, ["'teams'"]),
        ("platforms:", "platform:", 10, ["'platforms'"]),
    ],
)
def test_mistakes(tmp_path: Path, old: str, new: str, line: int, words: list[str]) -> None:
    text = STUDY.replace(old, new)
    if "{sklearn" in new:
        text = "\n".join(t for t in text.splitlines() if not t.startswith("    "))
    path = study_file(tmp_path, text)
    with pytest.raises(InputError) as caught:
        load_tasks(load_study(path))
    assert (caught.value.file, caught.value.line) == (path, line)
    assert all(word in caught.value.message for word in words), caught.value.message


def test_a_wrong_leaderboard_names_its_own_line(tmp_path: Path) -> None:
    path = study_file(tmp_path)
    (tmp_path / "scores.csv").write_text("rank,score\n1,high\n")
    with pytest.raises(InputError) as caught:
        load_tasks(load_study(path))
    assert (caught.value.file, caught.value.line) == (tmp_path / "scores.csv", 2)


@pytest.mark.parametrize("score", ["7", "-3"])
def test_a_score_that_no_auc_is_names_its_line(tmp_path: Path, score: str) -> None:
    path = study_file(tmp_path)
    scores = tmp_path / "scores.csv"
    scores.write_text(f"team,score\na,0.9\nb,{score}\n")
    with pytest.raises(InputError, match=f"the score {score} isn't from 0 to 1") as caught:
        load_leaderboard(load_study(path), 0)
    assert (caught.value.file, caught.value.line) == (scores, 3)
