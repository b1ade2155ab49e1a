"""What a run tells whoever watches it."""

from __future__ import annotations

from pathlib import Path

from runner.config import load_study
from runner.store import Store, present
from runner.sweep import Options, Sweep

STUDY = """
kind: sweep
name: small
tasks: [{sklearn: breast_cancer}]
systems:
  - C-AP: {iterations: [1, 10], learning_rate: [1.0]}
  - C-SVM: {iterations: [1], lambda_: [0.1]}
folds: 3
repeats: 2
"""


class Watching:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.counts: list[tuple[int, int]] = []
        self.messages: list[str] = []

    def progress(self, done: int, total: int, seconds_left: float | None) -> None:
        self.counts.append((done, total))

    def message(self, text: str) -> None:
        self.messages.append(text)


def test_refits_are_counted_from_the_start_and_another_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    Store.create(tmp_path / "results")
    watching = Watching()
    with present(str(tmp_path / "results")):
        sweep = Sweep(load_study(tmp_path / "study.yaml"), Options(tmp_path / "results", ""))
        summary = sweep.run(watching)
    planned = 2 * 3 * (2 + 1) + 2 * 2
    assert summary.planned == sweep.outlook().planned == planned
    assert {total for _, total in watching.counts} == {planned}
    assert watching.counts[-1] == (planned, planned)
    assert [text for text in watching.messages if "another run writes" in text]
