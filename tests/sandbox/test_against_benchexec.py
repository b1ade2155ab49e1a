"""Peak memory and CPU time against BenchExec's, which measures the same programs as commands."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import measured_programs
import pytest
from measured_programs import MIB, PROGRAMS

from runner.sandbox import Limits, Sandbox, Work


@dataclass(frozen=True)
class Measured:
    """What a program used beyond its start: bytes at the most, and seconds of all its cores."""

    memory: float
    cpu_seconds: float


def run_exec(name: str, core: int, folder: Path) -> Measured:
    """A program as BenchExec measures it, its start included in the memory but not in the time."""
    log = folder / f"{name}.log"
    limits = ["--cores", str(core), "--memlimit", "1GB", "--walltimelimit", "60"]
    command = [sys.executable, "-m", "benchexec.runexecutor", "--no-container", *limits]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "--output", log, "--", sys.executable, measured_programs.__file__, name],
        capture_output=True,
        text=True,
        env=environment,
    )
    told = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert told.get("returnvalue") == "0", done.stderr
    start = float(log.read_text().splitlines()[-1])
    return Measured(float(told["memory"].rstrip("B")), float(told["cputime"].rstrip("s")) - start)


@pytest.fixture(scope="module")
def sandbox(core: int) -> Iterator[Sandbox]:
    with Sandbox([core], preload=["measured_programs"]) as started:
        yield started


@pytest.fixture(scope="module")
def start(core: int, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """What a program that does nothing uses."""
    folder = tmp_path_factory.mktemp("start")
    # The first run alone is charged for reading the libraries' files.
    run_exec("nothing", core, folder)
    return run_exec("nothing", core, folder)


@pytest.mark.parametrize("name", PROGRAMS)
def test_peak_and_cpu_time(
    name: str, sandbox: Sandbox, start: Measured, core: int, tmp_path: Path
) -> None:
    theirs = run_exec(name, core, tmp_path)
    work = Work(
        "measured_programs:as_work", pickle.dumps(name), 1, warm_up="measured_programs:warm_up"
    )
    result = sandbox.run(work, Limits(cpus=1, memory=10**9, seconds=60))
    assert result.findings[0].outcome == "ok", result
    usage = result.usage
    assert usage.peak_mib is not None
    assert usage.baseline_mib is not None
    peak = (usage.peak_mib - usage.baseline_mib) * MIB
    print(
        f"ORA {name}: {peak / 1e6:.1f} {(theirs.memory - start.memory) / 1e6:.1f} MB; {usage.cpu_seconds:.4f} {theirs.cpu_seconds:.4f}",
        usage.baseline_mib,
        start.memory / MIB,
    )
    assert peak == pytest.approx(theirs.memory - start.memory, rel=0.05, abs=5e6)
    assert usage.cpu_seconds == pytest.approx(theirs.cpu_seconds, rel=0.05, abs=0.01)
