"""Ranks against sorting by hand, and the paper's AUCs and ranks against real leaderboards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import InputError
from runner.mlbench.leaderboard import leaderboard, quality_tolerance, read_leaderboard
from runner.mlbench.study import Study

from .conftest import printed

SCORES = st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=1, max_size=30)


def test_rank_counts_the_strictly_better() -> None:
    board = leaderboard([0.7, 0.9, 0.9, 0.8], teams=10)
    assert [board.rank(score) for score in (0.95, 0.9, 0.85, 0.8, 0.1)] == [1, 1, 3, 3, 5]
    assert board.tolerance(0.8) == 30
    assert board.winning_score == 0.9
    assert leaderboard([0.7], winning=0.6).winning_score == 0.6


@given(SCORES, st.floats(0, 1))
def test_rank_is_the_place_in_a_sorted_list(scores: list[float], score: float) -> None:
    board = leaderboard(scores)
    assert board.rank(score) == sorted([*scores, score], reverse=True).index(score) + 1
    lower = leaderboard(scores, higher_is_better=False)
    assert lower.rank(score) == sorted([*scores, score]).index(score) + 1


@given(SCORES, st.integers(1, 100))
def test_the_score_at_a_tolerance_is_the_worst_that_meets_it(
    scores: list[float], tolerance: int
) -> None:
    board = leaderboard(scores)
    meeting = [score for score in scores if board.tolerance(score) <= tolerance]
    assert board.score_at(tolerance) == min(meeting, default=None)


def test_a_tolerance_is_taken_as_it_is_written() -> None:
    # In binary .07 * 100 is more than 7, and .29 * 100 less than 29.
    assert leaderboard(range(10000)).score_at(0.07) == 10000 - 7
    assert leaderboard(range(10000)).score_at(0.29) == 10000 - 29


# Sections 5.1 and 5.3 of the paper.
@pytest.mark.parametrize(
    ("rank", "teams", "expected"), [(4, 625, 0.64), (2, 625, 0.32), (408, 1306, 31.24)]
)
def test_quality_tolerance(rank: int, teams: int, expected: float) -> None:
    assert quality_tolerance(rank, teams) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize(
    ("name", "task", "known"),
    [("stumbleupon", "D-EG", 624), ("mlsp-2014-mri", "D-SCH", 313)],
)
def test_printed_pairs_fit_the_real_leaderboard(
    name: str, task: str, known: int, published: Study, real_leaderboard: Callable[[str], Path]
) -> None:
    """Some AUC that is printed so has the printed rank."""
    teams = published.task(task).teams
    board = read_leaderboard(real_leaderboard(name), teams=teams)
    assert (len(board.scores), board.teams) == (known, teams)
    pairs = [row for row in printed("table8_auc_and_rank.csv") if row["dataset"] == task]
    assert len(pairs) == 10
    for pair in pairs:
        auc, rank = float(pair["auc"]), int(pair["rank"])
        fine = np.linspace(auc - 0.005, auc + 0.005, 2001)
        assert rank in {board.rank(score) for score in fine}, pair


@pytest.mark.parametrize(("name", "task"), [("stumbleupon", "D-EG"), ("mlsp-2014-mri", "D-SCH")])
def test_printed_auc_at_tolerance_10(
    name: str, task: str, published: Study, real_leaderboard: Callable[[str], Path]
) -> None:
    score = read_leaderboard(real_leaderboard(name), teams=published.task(task).teams).score_at(10)
    assert score is not None
    assert round(score, 2) == published.task(task).printed_high


def test_winning_code_of_d_eg_is_less_than_a_hundredth_behind(
    real_leaderboard: Callable[[str], Path],
) -> None:
    """Table 12 prints -0.01, which ranks 4 and 2 exclude."""
    board = read_leaderboard(real_leaderboard("stumbleupon"), teams=625)
    second_at_most, fourth_at_least = board.scores[0], board.scores[3]
    assert second_at_most - fourth_at_least < 0.005


def write(path: Path, text: str) -> Path:
    file = path / "board.csv"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        ("score\n0.5\n0.7\n", [0.7, 0.5]),
        ("TeamId,TeamName,SubmissionDate,Score\n1,a,d,0.5\n1,a,e,0.6\n2,b,d,0.7\n", [0.7, 0.6]),
        ("Rank,Team Name,Public Score,Private Score\n1,a,0.9,0.8\n2,b,0.95,0.7\n", [0.8, 0.7]),
        ("team_id,public,private\n1,0.9,0.8\n\n2,0.95,0.7\n", [0.8, 0.7]),
        ("\ufeffAUC\r\n1\r\n0\r\n", [1, 0]),
    ],
)
def test_common_files(tmp_path: Path, text: str, scores: list[float]) -> None:
    assert read_leaderboard(write(tmp_path, text)).scores.tolist() == scores


def test_a_named_column_and_lower_scores(tmp_path: Path) -> None:
    file = write(tmp_path, "rank,log loss,score\n1,0.2,9\n2,0.3,8\n")
    assert read_leaderboard(file, column="log loss", higher_is_better=False).scores.tolist() == [
        0.2,
        0.3,
    ]
    with pytest.raises(InputError, match=r"board\.csv:1: there is no column 'loss'.*'log loss'"):
        read_leaderboard(file, column="loss")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "board.csv: a leaderboard needs a header line"),
        ("score\n", "board.csv: a leaderboard needs a header line"),
        ("0.5\n0.7\n", "board.csv:1: the first line must name the columns"),
        ("team,points\na,0.5\n", "board.csv:1: no column is named `score`; there are 'team', 'p"),
        ("team,score\na,0.5\nb,x\n", "board.csv:3: score must be a number, not 'x'"),
        ("score\n0.5\nnan\n", "board.csv:3: score must be a number, not 'nan'"),
        ("team,score\na,0.5\nb\n", "board.csv:3: the line has 1 cells where the header has 2"),
        ("rank,score\n1,0.5\n2,0.6\n", "board.csv:3: rank 2 has a better score"),
        ("rank,score\nfirst,0.5\n2,0.6\n", "board.csv:2: rank must be a number"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_leaderboard(write(tmp_path, text))
    assert message in str(error.value)


def test_wrong_numbers(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs the score of one team"):
        leaderboard([])
    with pytest.raises(InputError, match=r"teams must be 2 or more, .* not 1"):
        leaderboard([0.1, 0.2], teams=1)
    with pytest.raises(InputError, match="finite"):
        leaderboard([0.1], winning=float("nan"))
    with pytest.raises(InputError, match=r"none\.csv: can't be read"):
        read_leaderboard(tmp_path / "none.csv")
