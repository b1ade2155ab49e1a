"""What a study is about, as a run records it for later reports: tasks, systems, platforms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from runner.mlbench.leaderboard import Leaderboard, leaderboard
from runner.mlbench.study import Submission, System, Task, Winning


@dataclass(frozen=True)
class Setting:
    """What a study is about.

    Attributes:
        tasks: In the study's order.
        systems: The same.
        platforms: Names of systems by the platform that provides them; they may name more than
            the study has.
    """

    tasks: tuple[Task, ...] = ()
    systems: tuple[System, ...] = ()
    platforms: Mapping[str, tuple[str, ...]] | None = None

    def to_json(self) -> str:
        """As text; the leaderboards' scores are in it, since their files may be gone one day."""
        document = {
            "tasks": [_task_document(task) for task in self.tasks],
            "systems": [asdict(system) for system in self.systems],
            "platforms": self.platforms,
        }
        # Unsorted: platforms and systems have an order.
        return json.dumps(document)

    @classmethod
    def from_json(cls, text: str | None) -> Setting:
        """From what ``to_json`` wrote; an empty one where a run has recorded none."""
        document = json.loads(text or "{}")
        platforms = document.get("platforms")
        return cls(
            tasks=tuple(map(_task, document.get("tasks", ()))),
            systems=tuple(System(**system) for system in document.get("systems", ())),
            platforms=None
            if platforms is None
            else {name: tuple(systems) for name, systems in platforms.items()},
        )


_PLAIN = ("name", "rows", "test_rows", "features", "teams")


def _task_document(task: Task) -> dict[str, Any]:
    document: dict[str, Any] = {name: getattr(task, name) for name in _PLAIN}
    if task.winning is not None:
        document["winning"] = asdict(task.winning)
    if task.leaderboard is not None:
        document["leaderboard"] = _board_document(task.leaderboard)
    if task.submission is not None:
        document["submission"] = asdict(task.submission)
    return document


def _board_document(board: Leaderboard) -> dict[str, Any]:
    return {
        "scores": board.scores.tolist(),
        "teams": board.teams,
        "winning": board.winning,
        "higher_is_better": board.higher_is_better,
    }


def _task(document: Mapping[str, Any]) -> Task:
    winning, board = document.get("winning"), document.get("leaderboard")
    handed = document.get("submission")
    return Task(
        **{name: document.get(name) for name in _PLAIN if name != "name"},
        name=document["name"],
        winning=None if winning is None else Winning(**winning),
        leaderboard=None if board is None else leaderboard(**board),
        submission=None if handed is None else _submission(**handed),
    )


def _submission(fingerprint: str, header: Sequence[str]) -> Submission:
    rows, probabilities = header
    return Submission(fingerprint, (rows, probabilities))
