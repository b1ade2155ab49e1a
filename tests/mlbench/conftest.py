"""The paper's printed tables, and the real leaderboards where they are at hand."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.mlbench.published import read_published
from runner.mlbench.study import Study

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "results/published/mlbench"
LEADERBOARDS = ROOT.parent / "shared/data/leaderboards"


@pytest.fixture(scope="session")
def published() -> Study:
    return read_published(PUBLISHED)


@pytest.fixture
def changed(tmp_path: Path) -> Callable[[str, str, str], Path]:
    """Copies the printed tables with one text of one file replaced by another."""

    def change(file: str, old: str, new: str) -> Path:
        folder = tmp_path / "mlbench"
        folder.mkdir(exist_ok=True)
        for source in PUBLISHED.glob("*.csv"):
            text = source.read_text()
            if source.name == file:
                assert text.count(old) == 1
                text = text.replace(old, new)
            (folder / source.name).write_text(text)
        return folder

    return change


@pytest.fixture
def real_leaderboard() -> Callable[[str], Path]:
    """The private leaderboard of a competition; Kaggle's files aren't the project's to copy."""

    def find(name: str) -> Path:
        path = LEADERBOARDS / f"{name}-private.csv"
        if not path.exists():
            pytest.skip(f"{path.name} isn't at hand")
        return path

    return find


def printed(file: str) -> list[dict[str, str]]:
    """The rows of a printed table."""
    with (PUBLISHED / file).open(newline="") as lines:
        return list(csv.DictReader(lines))
