"""What a run records is what a report reads."""

from __future__ import annotations

import json
from dataclasses import replace

from runner.mlbench.leaderboard import leaderboard
from runner.mlbench.setting import Setting
from runner.mlbench.study import Submission, System, Task, Winning


def test_round_trip() -> None:
    board = leaderboard([0.1, 0.25], teams=5, winning=0.2, higher_is_better=False)
    setting = Setting(
        (
            Task("a", 10, 20, 3, leaderboard=board, winning=Winning(0.2, 1, "LR")),
            Task("b", submission=Submission("0f", ("Id", "p"))),
        ),
        (System("mine", "mine", None), System("A-LR", "C-LR", True)),
        {"z": ("mine",), "a": ()},
    )
    text = setting.to_json()
    found = Setting.from_json(text)
    assert found.to_json() == text
    (own, bare), (again, _) = setting.tasks, found.tasks
    assert found.tasks[1] == bare
    assert replace(again, leaderboard=None) == replace(own, leaderboard=None)
    assert again.leaderboard is not None
    assert again.leaderboard.scores.tolist() == [0.1, 0.25]
    assert again.leaderboard.rank(0.2) == 2
    assert (found.systems, found.platforms) == (setting.systems, setting.platforms)
    assert list(found.platforms or ()) == ["z", "a"]


def test_nothing_recorded() -> None:
    for text in (None, "", "{}", Setting().to_json()):
        assert Setting.from_json(text) == Setting()
    assert json.loads(Setting().to_json())["platforms"] is None
