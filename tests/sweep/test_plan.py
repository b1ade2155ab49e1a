"""What a run would do, told before anything is computed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from runner import engine
from runner.config import SweepStudy, load_study, load_tasks
from runner.sandbox import Limits
from runner.store import ATTEMPTS, Store, stem_of
from runner.sweep import Options, Sweep
from runner.sweep.plan import Plan

STUDY = """
kind: sweep
name: planned
tasks: [{sklearn: breast_cancer}]
folds: 2
systems:
  - C-BDT: {leaves: [8], min_leaf: [1], learning_rate: [0.1]}
sandbox: {cpus: 2, memory: 2GB}
threads: 2
"""


@pytest.fixture
def study(tmp_path: Path) -> SweepStudy:
    file = tmp_path / "study.yaml"
    file.write_text(STUDY)
    return load_study(file)


def plan(study: SweepStudy, cpus: int = 2) -> Plan:
    return Plan(study, *load_tasks(study), cpus=cpus)


def results_with(folder: Path, **columns: Any) -> Path:
    """A folder of results with one row."""
    values = {"run_id": "r", "system": "C-BDT", "attempt": 1, **columns}
    schema = pa.schema([ATTEMPTS.field(name) for name in values])
    Store.create(folder).append(pa.Table.from_pylist([values], schema=schema))
    return folder


def sweep(study: SweepStudy, results: Path) -> Sweep:
    return Sweep(study, Options(results, "runner sweep study.yaml", fit_sandbox=True))


def limits_here(study: SweepStudy) -> Limits:
    size = study.sandbox
    return engine.capacity("local", Limits(size.cpus, size.memory, size.seconds), fit=True).limits


def test_a_fit_has_no_more_threads_than_cores_in_force(study: SweepStudy) -> None:
    assert plan(study).identity(0, "C-BDT")["threads"] == 2
    shrunk = plan(study, cpus=1).identity(0, "C-BDT")
    assert (shrunk["cpus"], shrunk["threads"]) == (1, 1)


@pytest.mark.parametrize("size", ["2GB", "3GB", "1000MB", "700MiB"])
def test_a_memory_row_serves_under_the_limit_that_it_was_made_with(
    study: SweepStudy, tmp_path: Path, size: str
) -> None:
    (tmp_path / "study.yaml").write_text(STUDY.replace("2GB", size))
    study = load_study(tmp_path / "study.yaml")
    limits = limits_here(study)
    key = plan(study, limits.cpus).pairs[0].cv[0].key
    results = results_with(
        tmp_path / "results", key=key, outcome="memory", memory_mib=round(limits.memory / 2**20)
    )
    assert sweep(study, results).outlook().reused == 1


def test_a_note_names_the_versions_that_keep_rows_from_serving(
    study: SweepStudy, tmp_path: Path
) -> None:
    made = {"python": "2.7", "lightgbm": "0.1", "C-BDT": 1, "preparation": 0}
    results = results_with(
        tmp_path / "results",
        key=stem_of(plan(study, limits_here(study).cpus).pairs[0].cv[0].key) + "-000000000000",
        outcome="ok",
        score=0.5,
        versions=json.dumps(made),
    )
    (note,) = [note for note in sweep(study, results).notes() if "rows" in note]
    assert note == (
        "1 rows of C-BDT were made with preparation 0, lightgbm 0.1: computing them again; "
        "--accept-versions keeps them"
    )


def test_each_repeat_is_an_evaluation_of_its_own(study: SweepStudy, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY + "repeats: 3\n")
    repeated = plan(load_study(tmp_path / "study.yaml"))
    (pair,), (once,) = repeated.pairs, plan(study).pairs
    keys = {evaluation.key for evaluation in pair.evaluations}
    assert len(keys) == 3 * len({evaluation.key for evaluation in once.evaluations})
    assert {e.key for e in pair.cv if e.repeat == 0} == {e.key for e in once.cv}
    groups = list(repeated.fits(pair.cv))
    assert len(groups) == 3 * len(list(plan(study).fits(once.cv)))
    assert all(len({(e.repeat, e.fold) for e in group}) == 1 for group in groups)


def test_exclusive_times_have_keys_of_their_own(study: SweepStudy, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY + "timing: exclusive\n")
    exclusive = plan(load_study(tmp_path / "study.yaml"))
    ours = {e.key for e in exclusive.pairs[0].evaluations}
    assert not ours & {e.key for e in plan(study).pairs[0].evaluations}


def test_a_row_without_a_limit_of_processes_serves_none_who_asks_for_one(
    study: SweepStudy, tmp_path: Path
) -> None:
    limits = limits_here(study)
    key = plan(study, limits.cpus).pairs[0].cv[0].key
    row = {"key": key, "outcome": "ok", "score": 0.5, "wall_seconds": 1.0, "peak_mib": 1.0}
    results = results_with(tmp_path / "results", **row)
    assert sweep(study, results).outlook().reused == 1
    (tmp_path / "study.yaml").write_text(STUDY.replace("2GB", "2GB, processes: 64"))
    assert sweep(load_study(tmp_path / "study.yaml"), results).outlook().reused == 0
