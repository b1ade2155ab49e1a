"""What a person reads of a run's progress where there is no terminal."""

from __future__ import annotations

import pytest

from runner.cli import progress
from runner.cli.progress import StudyProgress


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "3 of 8 evaluations; best AUC C-LR 0.7500"),
        (0.4, "3 of 8 evaluations, finishing; best AUC C-LR 0.7500"),
        (12.0, "3 of 8 evaluations, about 12 s left; best AUC C-LR 0.7500"),
        (600.0, "3 of 8 evaluations, about 10 min left; best AUC C-LR 0.7500"),
        (7200.0, "3 of 8 evaluations, about 2.0 h left; best AUC C-LR 0.7500"),
    ],
)
def test_a_line(
    seconds: float | None,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    with StudyProgress(lambda: {("a", "C-LR"): 0.8, ("b", "C-LR"): 0.7}) as shown:
        shown.progress(3, 8, seconds)
    assert capsys.readouterr().err.splitlines() == [words]


def test_nothing_is_near_its_end_before_anything_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    with StudyProgress() as shown:
        shown.progress(0, 27, 0.2)
    assert capsys.readouterr().err == "0 of 27 evaluations\n"
