"""Files for tests of test sets: labels, predictions of a known accuracy, a condition."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Scene:
    """A folder with a condition (ci.yaml) and its labels, of which a third is `no`."""

    folder: Path
    rows: int = 700
    condition: str = "n > 0.7 +/- 0.1"

    @property
    def file(self) -> Path:
        return self.folder / "ci.yaml"

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger"

    def write(self, *, adaptivity: str = "full", steps: int = 4, more: str = "") -> Path:
        """The condition's file, and labels if there are none."""
        if not (self.folder / "labels.csv").exists():
            write_labels(self.folder / "labels.csv", self.labels)
        self.file.write_text(
            f"condition: {self.condition}\nreliability: 0.99\nmode: fp-free\n"
            f"adaptivity: {adaptivity}\nsteps: {steps}\nledger: ledger\n"
            f"testset: {{name: may, labels: labels.csv}}\n{more}"
        )
        return self.file

    @property
    def labels(self) -> list[str]:
        return ["yes" if i % 3 else "no" for i in range(self.rows)]

    def predictions(self, right: int, name: str = "") -> Path:
        """Predictions of which so many are right, in a file of their own."""
        other = {"yes": "no", "no": "yes"}
        found = [x if i < right else other[x] for i, x in enumerate(self.labels)]
        path = self.folder / (name or f"new-{right}.csv")
        write_predictions(path, found)
        return path


def write_labels(path: Path, labels: Sequence[str]) -> None:
    """A file of labels that only its owner can read."""
    _write(path, "label", labels)
    path.chmod(0o600)


def write_predictions(path: Path, classes: Sequence[str]) -> None:
    """A file of predictions for rows r0, r1, ..."""
    _write(path, "prediction", classes)


def _write(path: Path, column: str, values: Sequence[str]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["id", column], *([f"r{i}", v] for i, v in enumerate(values))])
