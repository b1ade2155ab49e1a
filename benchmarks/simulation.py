"""A simulation on one core and on all: ``python -m benchmarks.simulation``.

Prints a table in Markdown. ``runner metatask simulate`` runs the paper's techniques on a made
metatask of 50 models, in turns with one slot and with one a core, each with no results to begin
from; the time is from the first job's start to the last one's end, Ray's start-up aside.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.ensembles import made
from benchmarks.machine import description
from runner.metatask import files
from runner.store import Store

_SPAN = """
select epoch(max(started_at)) - epoch(min(started_at))
        + arg_max(wall_seconds, started_at) as seconds,
    sum(fit_seconds + predict_seconds + prepare_seconds) as work, count(*) as evaluations
from evaluations
"""


@dataclass(frozen=True)
class Measured:
    """What one run took.

    Attributes:
        seconds: From the first job's start to the last one's end.
        work: Of the evaluations themselves, summed.
        scores: By key.
    """

    seconds: float
    work: float
    scores: dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="of the metatask")
    parser.add_argument("--turns", type=int, default=3, help="runs of each number of slots")
    asked = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    found: dict[int, list[Measured]] = {1: [], len(cores): []}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / files.file_name("made")
        files.write(replace(made(asked.rows, 2, 0), name="made"), file)
        for turn in range(asked.turns):
            for slots in found:
                results = Path(folder) / f"{slots}-{turn}"
                found[slots].append(_measured(file, results, set(cores[:slots])))
    assert (
        len({json.dumps(one.scores, sort_keys=True) for all in found.values() for one in all}) == 1
    )
    one = statistics.median(one.seconds for one in found[1])
    print(
        f"{asked.rows:,} rows, 50 models, {len(found[1][0].scores)} evaluations; {description()}\n"
    )
    print(
        "| slots | seconds, median (least to most) | of which techniques | faster than one slot |"
    )
    print("|---|---|---|---|")
    for slots, runs in found.items():
        seconds = [run.seconds for run in runs]
        median = statistics.median(seconds)
        spread = f"{median:.1f} ({min(seconds):.1f} to {max(seconds):.1f})"
        work = statistics.median(run.work / slots / run.seconds for run in runs)
        print(f"| {slots} | {spread} | {100 * work:.0f} % | {one / median:.2f} |")


def _measured(file: Path, results: Path, cores: set[int]) -> Measured:
    command = [sys.executable, "-m", "runner", "metatask", "simulate", file, "--results", results]
    subprocess.run(
        list(map(str, command)),
        check=True,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    store = Store.open(results)
    (row,) = store.query(_SPAN).to_pylist()
    scores = store.query("select key, score from evaluations").to_pylist()
    return Measured(row["seconds"], row["work"], {one["key"]: one["score"] for one in scores})


if __name__ == "__main__":
    main()
