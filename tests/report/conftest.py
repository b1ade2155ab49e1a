"""A store made up for reports: two tasks, two systems, every kind of trouble."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from runner.store import ATTEMPTS, Run, Store, Wanted

START = datetime(2026, 1, 2, tzinfo=UTC)
FOLDS = 5


def evaluation(task: str, system: str, configuration_id: int, fold: int | None) -> dict[str, Any]:
    """A row that is ok, without score and times."""
    stage = "test" if fold is None else "cv"
    return {
        "key": f"{task}/{system}/{configuration_id}/{fold}",
        "run_id": "r1",
        "stage": stage,
        "task": task,
        "task_fingerprint": f"digest of {task}",
        "system": system,
        "configuration": json.dumps({"leaves": configuration_id}),
        "configuration_id": configuration_id,
        "fold": fold,
        "repeat": 0,
        "outcome": "ok",
        "attempt": 1,
        "started_at": START,
        "timing": "packed",
        "machine": "m1",
        "cpus": 1,
        "threads": 1,
        "memory_mib": 2000,
        "enforced": "{}",
    }


def synthetic_rows() -> list[dict[str, Any]]:
    """Rows of stage cv, some of them failed, some evaluations without one."""
    draw = random.Random(0)
    rows = []
    for task in ("wdbc", "kc2"):
        for system, count in (("C-BDT", 9), ("C-LR", 4)):
            for configuration_id in range(count):
                for fold in range(FOLDS):
                    if draw.random() < 0.02:
                        continue
                    row = evaluation(task, system, configuration_id, fold)
                    row["outcome"] = draw.choices(
                        ["ok", "timeout", "memory", "error", "crash", "infra"], [94, 2, 1, 1, 1, 1]
                    )[0]
                    if row["outcome"] == "ok":
                        row |= {"score": draw.random(), "fit_seconds": draw.expovariate(1.0)}
                    rows.append(row)
    return rows


def plan() -> tuple[Wanted, ...]:
    """All evaluations of the synthetic rows, missing ones included."""
    return tuple(
        Wanted(
            task,
            system,
            FOLDS,
            tuple(
                evaluation(task, system, configuration_id, fold)["key"]
                for configuration_id in range(count)
                for fold in range(FOLDS)
            ),
        )
        for task in ("wdbc", "kc2")
        for system, count in (("C-BDT", 9), ("C-LR", 4))
    )


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=ATTEMPTS)


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Store]:
    """Records a run and its rows in a store, which further calls go on with."""
    return recorder(tmp_path / "results")


def recorder(folder: Path) -> Callable[..., Store]:
    """What the fixture ``record`` is, for a folder of one's own."""

    def make(
        rows: list[dict[str, Any]],
        planned: tuple[Wanted, ...],
        *,
        run_id: str = "r1",
        hours: int = 0,
        tests: tuple[str, ...] = (),
        ended: bool = True,
        setting: str | None = None,
    ) -> Store:
        store = Store.create(folder)
        begun = START + timedelta(hours=hours)
        store.begin_run(
            Run(run_id, "study", "", planned, "runner sweep s.yaml", begun, {}, "m1", setting)
        )
        if rows:
            store.append(table(rows))
        if tests:
            store.extend_run(run_id, tests)
        if ended:
            store.end_run(run_id, begun + timedelta(minutes=1), {"ok": len(rows)})
        return store

    return make
