"""How far times of one and the same fit spread: ``python -m benchmarks.timing``.

Runs a study of one configuration, timed 30 times, with and without neighbours under `packed` and
`exclusive`, and prints a table in Markdown. It takes some minutes; elsewhere the machine has to be
quiet, or the table shows what else ran.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import description
from runner.store import Store

_STUDY = """
kind: sweep
name: timing
tasks: [sklearn: breast_cancer]
folds: 2
systems:
  - C-BDT: {{leaves: [32], trees: [100], learning_rate: [0.1], min_leaf: [10]}}
sandbox: {{cpus: {cpus}, memory: 2GB, seconds: 600}}
timing: {timing}
repeats: {repeats}
"""

_ROWS = """
    SELECT fit_seconds, timed_fits, neighbours, quiet FROM evaluations
    WHERE stage = 'cv' AND fold = 0 AND outcome = 'ok'
"""


@dataclass(frozen=True)
class Condition:
    """What runs beside the fits.

    Attributes:
        timing: The study's.
        filled: Whether its other fits run on the machine's other cores.
        outsider: Whether a process of somebody else's is busy meanwhile.
    """

    timing: str
    filled: bool = False
    outsider: bool = False

    def __str__(self) -> str:
        beside = "a process of somebody else's" if self.outsider else "nothing"
        return "the study's own fits on the other cores" if self.filled else beside


CONDITIONS = (
    Condition("packed"),
    Condition("packed", filled=True),
    Condition("packed", outsider=True),
    Condition("exclusive"),
    Condition("exclusive", outsider=True),
)


def measure(condition: Condition, repeats: int) -> list[dict[str, Any]]:
    """The rows of one fit, ``repeats`` times."""
    # A sandbox of all cores leaves no room for another one.
    cpus = 1 if condition.filled else len(os.sched_getaffinity(0))
    study = _STUDY.format(cpus=cpus, timing=condition.timing, repeats=repeats)
    with tempfile.TemporaryDirectory() as folder, _outsider(condition.outsider):
        file = Path(folder, "timing.yaml")
        file.write_text(study)
        results = Path(folder, "results")
        command = [sys.executable, "-m", "runner", "sweep", str(file), "--results", str(results)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        rows: list[dict[str, Any]] = Store.open(results).query(_ROWS).to_pylist()
    assert len(rows) == repeats, f"{len(rows)} of {repeats} fits are ok"
    return rows


def line(condition: Condition, rows: list[dict[str, Any]]) -> str:
    """The table's row."""
    seconds = np.array([row["fit_seconds"] for row in rows])
    quiet = [row["quiet"] for row in rows if row["quiet"] is not None]
    cells = (
        condition.timing,
        str(condition),
        f"{1000 * np.median(seconds):.1f}",
        f"{1000 * seconds.min():.1f} to {1000 * seconds.max():.1f}",
        f"{100 * np.std(seconds, ddof=1) / seconds.mean():.1f} %",
        f"{seconds.max() / seconds.min():.2f}",
        f"{np.median([row['timed_fits'] for row in rows]):.0f}",
        f"{np.mean([row['neighbours'] for row in rows]):.1f}",
        f"{sum(quiet)} of {len(quiet)}" if quiet else "",
    )
    return "| " + " | ".join(cells) + " |"


@contextlib.contextmanager
def _outsider(wanted: bool) -> Iterator[None]:
    if not wanted:
        yield
        return
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.neighbour"],
        stdout=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=30, help="how often the fit is timed")
    repeats = parser.parse_args().repeats
    print(f"{description()}; {repeats} times the same fit\n")
    print(
        "| timing | beside it | median, ms | range, ms | sd / mean | largest / smallest |", end=""
    )
    print(" fits a time | neighbours | quiet |\n" + "|---" * 9 + "|", flush=True)
    for condition in CONDITIONS:
        print(line(condition, measure(condition, repeats)), flush=True)


if __name__ == "__main__":
    main()
