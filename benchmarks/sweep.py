"""A sweep's wall time beside scikit-learn's and Ray Tune's: ``python -m benchmarks.sweep``.

Sweeps the eight families of mlbench over breast_cancer and spambase with ``runner sweep``, with
GridSearchCV on all cores (the same estimators, folds and scorer) and, on breast_cancer, with plain
Ray Tune (one trial a configuration; 60 of 460 trials, extrapolated). Whole commands are timed,
each in a process of its own. About 20 minutes on two quiet cores, most of them for spambase;
``--tasks breast_cancer`` takes 4. spambase is skipped where its file is missing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import description
from runner.config import PLATFORMS
from runner.models import FAMILIES
from runner.store import Store

_SPAMBASE = Path(__file__).parents[2] / "shared/data/datasets/x-spambase.parquet"
_MOST_SECONDS = 4 * 3600

_STUDY = """
kind: sweep
name: {name}
tasks:
  - {task}
systems: [{systems}]
sandbox: {{cpus: 1, memory: 2GB, seconds: 3600}}
"""

_BEST = """
    SELECT system, max(score) AS score FROM (
        SELECT system, configuration_id, avg(score) AS score FROM evaluations
        WHERE stage = 'cv' AND outcome = 'ok' GROUP BY system, configuration_id
    ) GROUP BY system
"""

# A job's CPU seconds stand in the row of each of its evaluations.
_SPENT = """
    SELECT min(started_at) AS began, sum(cpu_seconds / shared_with) AS cpu,
        count(*) FILTER (stage = 'cv') AS rows, count(*) FILTER (outcome != 'ok') AS failed
    FROM evaluations
"""


@dataclass(frozen=True)
class Task:
    """What is swept. Aims are for the eight systems together.

    Attributes:
        entry: The study's entry for it.
        file: What has to be there; None for nothing.
        share: The share of GridSearchCV's time that is aimed at.
        tune: The share of plain Tune's time that is aimed at; None doesn't run Tune.
    """

    entry: str
    file: Path | None
    share: float
    tune: float | None


TASKS: Mapping[str, Task] = {
    "breast_cancer": Task("sklearn: breast_cancer", None, share=0.52, tune=0.1),
    "spambase": Task(
        f"{{file: '{_SPAMBASE}', name: spambase, target: target}}", _SPAMBASE, share=0.68, tune=None
    ),
}
MLBENCH = PLATFORMS["Azure"]
WITHIN = 1.15
"""By how much the aim may be missed."""
_NO_AIM = "none for these systems"


@dataclass(frozen=True)
class Ours:
    """What ``runner sweep`` took.

    Attributes:
        seconds: Of the whole command.
        startup_seconds: Of it until the first job began.
        cpu_seconds: Of all jobs: preparing, fitting and scoring.
        rows: Evaluations of stage cv.
        best: The best mean AUC by system.
    """

    seconds: float
    startup_seconds: float
    cpu_seconds: float
    rows: int
    best: Mapping[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--systems", nargs="+", choices=FAMILIES, default=list(MLBENCH))
    parser.add_argument("--trials", type=int, default=60, help="how many of Tune's to make")
    arguments = parser.parse_args()
    # Kernels are compiled once for an installation, not for a sweep.
    subprocess.run([sys.executable, "-m", "runner.models.kernels"], check=True)
    print(f"{description()}\n")
    print("| task | with | wall, s | until the first fit, s | runner / it | aim |")
    print("|---|---|---|---|---|---|", flush=True)
    notes: list[str] = []
    for name in arguments.tasks:
        task = TASKS[name]
        if task.file is not None and not task.file.exists():
            print(f"| {name} | skipped: its file isn't here | | | | |")
            continue
        with tempfile.TemporaryDirectory() as folder:
            notes.append(_compare(name, task, arguments.systems, arguments.trials, Path(folder)))
    print("", *notes, sep="\n")


def _compare(name: str, task: Task, systems: Sequence[str], trials: int, folder: Path) -> str:
    """Print the task's rows of the table.

    Returns:
        What is to be said below it.
    """
    study = folder / f"{name}.yaml"
    study.write_text(_STUDY.format(name=name, task=task.entry, systems=", ".join(systems)))
    ours = _sweep(study, folder / "results")
    _print(name, f"runner sweep ({ours.rows} rows)", ours.seconds, ours.startup_seconds, "", "")
    seconds, theirs = _rival("gridsearch", study)
    complete = set(systems) == set(MLBENCH)
    aim = f"{task.share:g}, at most {task.share * WITHIN:.2f}" if complete else _NO_AIM
    _print(name, "GridSearchCV", seconds, None, f"{ours.seconds / seconds:.2f}", aim)
    if task.tune is not None:
        aim = f"at most {task.tune:g}" if complete else _NO_AIM
        _compare_with_tune(name, study, trials, ours, aim)
    _check(ours.best, theirs["best"])
    spent = theirs["cpu_seconds"]
    return (
        f"{name}: the runner's jobs took {ours.cpu_seconds:.0f} CPU seconds, GridSearchCV's "
        f"processes {spent:.0f}: without start-up and dispatch {ours.cpu_seconds / spent:.2f} "
        "would be left. The best AUC of every system is the same."
    )


def _sweep(study: Path, results: Path) -> Ours:
    began = datetime.now(UTC)
    command = ["sweep", str(study), "--results", str(results), "--json"]
    seconds, _ = _timed(["-m", "runner", *command])
    store = Store.open(results)
    [spent] = store.query(_SPENT).to_pylist()
    assert not spent["failed"], f"{spent['failed']} evaluations failed"
    return Ours(
        seconds=seconds,
        startup_seconds=(spent["began"] - began).total_seconds(),
        cpu_seconds=spent["cpu"],
        rows=spent["rows"],
        best={row["system"]: row["score"] for row in store.query(_BEST).to_pylist()},
    )


def _rival(how: str, study: Path, *options: str) -> tuple[float, dict[str, Any]]:
    seconds, told = _timed(["-m", "benchmarks.rivals", how, str(study), *options])
    found: dict[str, Any] = json.loads(told.splitlines()[-1])
    return seconds, found


def _compare_with_tune(name: str, study: Path, trials: int, ours: Ours, aim: str) -> None:
    """Start and end as they were, the trials' part for all of them."""
    seconds, found = _rival("tune", study, "--trials", str(trials))
    made, every = found["trials"], found["of"]
    expected = seconds + found["trial_seconds"] * (every / made - 1)
    label = f"plain Ray Tune, extrapolated from {made} of {every} trials ({seconds:.0f} s)"
    share = f"{ours.seconds / expected:.2f}"
    _print(name, label, expected, found["startup_seconds"], share, aim)


def _timed(arguments: list[str]) -> tuple[float, str]:
    """Wall seconds and output of a Python command; its progress is shown."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=_MOST_SECONDS,
    )
    return time.perf_counter() - started, done.stdout


def _check(ours: Mapping[str, float], theirs: Mapping[str, float]) -> None:
    assert ours.keys() == theirs.keys()
    for system, score in ours.items():
        assert abs(score - theirs[system]) < 1e-9, (system, score, theirs[system])


def _print(
    task: str, what: str, seconds: float, startup: float | None, share: str, aim: str
) -> None:
    first = "" if startup is None else f"{startup:.1f}"
    print(f"| {task} | {what} | {seconds:.1f} | {first} | {share} | {aim} |", flush=True)


if __name__ == "__main__":
    main()
