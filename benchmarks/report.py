"""What a report of a large study costs: ``python -m benchmarks.report``.

Makes up a store of 1,000,000 evaluations, reports it with ``runner report`` as anybody would, and
takes that command's time and memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.machine import description
from runner.config import PLATFORMS
from runner.mlbench.leaderboard import leaderboard
from runner.mlbench.setting import Setting
from runner.mlbench.study import MODELS, System, Task
from runner.models import FAMILIES
from runner.store import ATTEMPTS, Run, Store, Wanted

AIM_SECONDS, AIM_MIB = 20, 2048
TASKS, SYSTEMS, FOLDS = 10, 8, 5
COMMAND = "runner sweep large.yaml"
BEGUN = datetime(2026, 1, 2, tzinfo=UTC)
MACHINE = json.dumps({"cores": 64, "cpu": "made up", "kernel": "6.1", "memory_mib": 256_000})
FAILURES = ("timeout", "memory", "crash", "error")
FAILED = 0.02
LOG = "".join(f"line {number} of what a fit that failed had to say\n" for number in range(40))


@dataclass(frozen=True)
class Cost:
    """What a command took."""

    wall_seconds: float
    cpu_seconds: float
    peak_mib: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="evaluations in the store")
    parser.add_argument("--repeats", type=int, default=3, help="reports that are made of it")
    parser.add_argument(
        "--keep", type=Path, help="a folder for store and report; used if it's there"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = (arguments.keep or Path(folder)) / "results"
        if not results.exists():
            make_store(results, arguments.rows)
        costs = [report(results) for _ in range(arguments.repeats)]
    _print(arguments.rows, costs)


def report(results: Path) -> Cost:
    """``runner report``, in a process of its own."""
    command = [sys.executable, "-m", "runner", "report", "--results", str(results)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"`runner report` ended with {process.returncode}")
    # Linux counts the peak in KiB.
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def make_store(path: Path, rows: int) -> None:
    """A finished sweep of ten tasks and eight systems, whose grids are as large as it takes."""
    configurations = rows // (TASKS * SYSTEMS * FOLDS)
    draw = np.random.default_rng(0)
    systems = list(FAMILIES)[:SYSTEMS]
    pairs = [(f"task{number}", system) for number in range(TASKS) for system in systems]
    keys = {pair: _keys(draw, configurations * FOLDS) for pair in pairs}
    planned = tuple(
        Wanted(*pair, FOLDS, tuple(own), 1, tuple(range(configurations)))
        for pair, own in keys.items()
    )
    refits = _keys(draw, len(pairs))
    store = Store.create(path)
    run = Run("run", "large", "", planned, COMMAND, BEGUN, {}, MACHINE, _setting(draw, systems))
    store.begin_run(run)
    for number, (task, system) in enumerate(draw.permutation(pairs).tolist()):
        cv, best = _pair(draw, task, system, np.array(keys[task, system]), configurations)
        store.append(cv)
        store.append(_refit(cv, best, refits[number]))
    store.extend_run("run", refits)
    store.end_run("run", BEGUN + timedelta(days=9), {"ok": rows})


def _setting(draw: np.random.Generator, systems: Sequence[str]) -> str:
    tasks = [
        Task(
            f"task{number}",
            rows=int(10 ** draw.uniform(2.5, 5)),
            leaderboard=leaderboard(np.sort(draw.beta(30, 3, 800))[::-1]),
        )
        for number in range(TASKS)
    ]
    return Setting(
        tuple(tasks),
        tuple(System(name, MODELS.get(name, name), FAMILIES[name].linear) for name in systems),
        PLATFORMS,
    ).to_json()


def _keys(draw: np.random.Generator, count: int) -> list[str]:
    text = draw.bytes(26 * count).hex()
    return [f"{text[52 * i : 52 * i + 40]}-{text[52 * i + 40 : 52 * i + 52]}" for i in range(count)]


def _pair(
    draw: np.random.Generator, task: str, system: str, keys: np.ndarray, configurations: int
) -> tuple[pa.Table, int]:
    """The rows of a pair, in the order in which they ended, and its best configuration."""
    count = len(keys)
    number, fold = np.divmod(np.arange(count), FOLDS)
    skill = draw.normal(2.2, 0.4, configurations)
    score = 1 / (1 + np.exp(-skill[number] - draw.normal(0, 0.1, count)))
    outcome = np.where(draw.random(count) < FAILED, draw.choice(FAILURES, count), "ok")
    failed = outcome != "ok"
    means = np.where(failed, -np.inf, score).reshape(configurations, FOLDS).mean(axis=1)
    seconds = draw.lognormal(-2, 2, configurations)[number] * draw.uniform(0.9, 1.1, count)
    texts = [
        json.dumps({"leaves": 2 + i % 50, "rate": 0.001 * (1 + i // 50), "trees": 100})
        for i in range(configurations)
    ]
    columns = {
        "key": keys,
        "configuration": np.array(texts)[number],
        "configuration_id": number,
        "fold": fold,
        "score": pa.array(score, mask=failed),
        "outcome": outcome,
        "reason": pa.array(outcome, mask=~failed),
        "log_tail": pa.array(np.where(failed, LOG, ""), mask=~failed),
        "fit_seconds": pa.array(seconds, mask=failed),
        "predict_seconds": pa.array(seconds / 50, mask=failed),
        **{name: seconds + draw.random(count) for name in _CLOCKS},
        "peak_mib": draw.uniform(5, 500, count),
        "load": draw.uniform(0, 64, count),
        "started_at": np.datetime64(BEGUN.replace(tzinfo=None), "us")
        + draw.integers(0, 9 * 86_400 * 10**6, count).astype("m8[us]"),
    }
    names = {"task": task, "task_fingerprint": f"{task}-{'0' * 58}", "system": system}
    table = _table(columns | {name: pa.repeat(value, count) for name, value in names.items()})
    return table.take(draw.permutation(count)), int(means.argmax())


_CLOCKS = ("wall_seconds", "cpu_seconds", "user_seconds")
_ALIKE = {
    "run_id": "run",
    "study": "large",
    "stage": "cv",
    "repeat": 0,
    "seed": 0,
    "metric": "auc",
    "timed_fits": 1,
    "shared_with": 1,
    "oom_kills": 0,
    "cpus": 1,
    "threads": 1,
    "memory_mib": 4096,
    "limit_seconds": 3600.0,
    "timing": "packed",
    "enforced": json.dumps({"cpu": "cpuset", "kill": "freezer", "memory": "cgroup-v2"}),
    "node": "node",
    "machine": MACHINE,
    "attempt": 1,
    "imputed": False,
    "versions": json.dumps({"python": "3.11.7", "numpy": "2.4.6", "runner": "0.1.0"}),
}


def _table(columns: dict[str, object]) -> pa.Table:
    count = len(columns["key"])  # type: ignore[arg-type]
    columns |= {name: pa.repeat(value, count) for name, value in _ALIKE.items()}
    fields = [field for field in ATTEMPTS if field.name in columns]
    return pa.table(
        [_array(columns[field.name], field.type) for field in fields], schema=pa.schema(fields)
    )


def _array(values: object, type_: pa.DataType) -> pa.Array:
    array = values if isinstance(values, pa.Array) else pa.array(values)
    return array.cast(type_)


def _refit(cv: pa.Table, configuration_id: int, key: str) -> pa.Table:
    """A row of stage test for a configuration."""
    row = cv.filter(pa.compute.equal(cv["configuration_id"], configuration_id)).slice(0, 1)
    other = {"key": key, "stage": "test", "fold": None}
    for name, value in other.items():
        place = row.schema.get_field_index(name)
        field = row.schema.field(place)
        row = row.set_column(place, field, pa.array([value], field.type))
    return row


def _print(rows: int, costs: list[Cost]) -> None:
    print(f"{description()}\n")
    print("| rows | what | " + " | ".join(f"report {n + 1}" for n in range(len(costs))), end="")
    print(" | aim |\n|---|---|" + "---|" * (len(costs) + 1))
    for what, values, aim in (
        ("wall, s", [f"{cost.wall_seconds:.1f}" for cost in costs], f"at most {AIM_SECONDS}"),
        ("CPU, s", [f"{cost.cpu_seconds:.1f}" for cost in costs], ""),
        ("peak RSS, MiB", [f"{cost.peak_mib:,.0f}" for cost in costs], f"at most {AIM_MIB:,}"),
    ):
        print(f"| {rows:,} | {what} | {' | '.join(values)} | {aim} |")


if __name__ == "__main__":
    main()
