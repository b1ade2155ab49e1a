"""Sweeps run as a user runs them: the command in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SMALL = """
kind: sweep
name: small
tasks:
  - sklearn: breast_cancer
folds: 5
systems:
  - C-BDT: {leaves: [2, 8], min_leaf: [1], learning_rate: [0.1, 0.4]}
  - C-LR: {l1: [0, 1], l2: [0.1, 1], memory: [20]}
sandbox: {cpus: 1, memory: 2GB, seconds: 600}
"""


@dataclass(frozen=True)
class Folder:
    """A folder with study files and results in it."""

    path: Path

    def study(self, text: str, name: str = "study.yaml") -> Path:
        file = self.path / name
        file.write_text(text)
        return file

    def command(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "runner", *map(str, arguments)]

    def start(self, *arguments: str | Path, **keywords: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
            **keywords,
        )

    def run(self, *arguments: str | Path, **keywords: Any) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, **keywords)
        out, err = process.communicate(timeout=500)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def sweep(self, study: Path, results: str, *arguments: str, **keywords: Any) -> dict[str, Any]:
        """Run a sweep to its end, which must be a good one; what --json says."""
        done = self.run("sweep", study, "--results", results, "--json", *arguments, **keywords)
        assert done.returncode == 0, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def query(self, results: str, sql: str) -> list[dict[str, Any]]:
        done = self.run("query", sql, "--results", results, "--format", "json")
        assert done.returncode == 0, done.stderr
        rows: list[dict[str, Any]] = json.loads(done.stdout)
        return rows

    def scores(self, results: str) -> dict[str, float]:
        """The score of every key, none of which was computed twice, with every bit of a double."""
        rows = self.query(results, "select key, score from attempts")
        assert len(rows) == len({row["key"] for row in rows})
        return {row["key"]: row["score"] for row in rows}


@pytest.fixture(scope="session")
def make_folder() -> type[Folder]:
    return Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, Path, dict[str, Any]]:
    """The small study, run once and left alone: its folder, its file and what the run said."""
    folder = Folder(tmp_path_factory.mktemp("undisturbed"))
    study = folder.study(SMALL)
    return folder, study, folder.sweep(study, "results")
