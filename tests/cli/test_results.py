"""``runner results``: what is said and with which status."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from runner.cli import main
from runner.store import Run, Store, Wanted

START = datetime(2026, 1, 2, tzinfo=UTC)


def status_of(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two rows in a data file each, of a run that ended."""
    store = Store.create(tmp_path / "results")
    store.begin_run(
        Run("r1", "s", "", (Wanted("t", "C-LR", 2, ("a", "b")),), "runner sweep", START, {}, "m")
    )
    for key in ("a", "b"):
        store.append(pa.table({"key": [key], "run_id": ["r1"], "outcome": ["ok"], "score": [0.5]}))
    store._append_run(run_id="r1", ended_at=START, outcomes="{}")
    return tmp_path / "results"


def test_a_good_store(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("results", "check", "--results", str(folder)) == 0
    assert capsys.readouterr().out == f"{folder}: nothing wrong\n"
    assert status_of("results", "check", "--repair", "--json", "--results", str(folder)) == 0
    assert json.loads(capsys.readouterr().out) == {"problems": [], "repaired": []}


def test_damage_is_told_repaired_and_told_to_be_computed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = Path(DeltaTable(folder / "attempts").file_uris()[0])
    victim.write_bytes(b"PAR1")
    where = ("--results", str(folder))
    for command in (["report"], ["query", "from evaluations"]):
        assert status_of(*command, *where) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "`runner results check --repair` sets damaged files aside" in line
    assert status_of("results", "check", *where) == 1
    assert str(victim) in capsys.readouterr().out.splitlines()[0]
    assert status_of("results", "check", "--repair", *where) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("attempts: repaired, 1 rows lost; damaged files: 1 set aside (")
    assert last.startswith("run the study again: it computes what was lost")
    assert status_of("results", "check", *where) == 1
    assert "planned keys of finished runs without an attempt" in capsys.readouterr().out


def test_merge_and_export(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / "all")
    added = {"attempts": 2, "predictions": 0, "runs": 2, "renumbered": 0}
    for document in (added, dict.fromkeys(added, 0)):
        assert status_of("results", "merge", str(folder), "--results", target, "--json") == 0
        assert json.loads(capsys.readouterr().out) == document
    file = tmp_path / "all.csv"
    assert status_of("results", "export", "--results", target, "--output", str(file)) == 0
    assert capsys.readouterr().out == f"{file}: 2 rows of evaluations\n"
    assert file.read_text().count("\n") == 3
    assert status_of("results", "export", "--results", target, "--output", "x.feather") == 2
    assert "--format" in capsys.readouterr().err
    assert status_of("results", "merge", target, "--results", target) == 2
    assert "into itself" in capsys.readouterr().err


def test_a_damaged_log_ends_no_command_with_a_trace(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for commit in (folder / "runs" / "_delta_log").glob("*.json"):
        commit.write_bytes(commit.read_bytes()[:40])
    for command in (
        ["report"],
        ["query", "from runs"],
        ["results", "compact"],
        ["results", "export", "--output", str(folder.parent / "x.csv")],
        ["results", "merge", str(folder)],
    ):
        target = folder.parent / "other" if "merge" in command else folder
        assert status_of(*command, "--results", str(target)) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"error: {folder}/runs: the log of this table is damaged (")
        assert "unexpected" not in line
    assert status_of("results", "check", "--repair", "--results", str(folder)) == 0
