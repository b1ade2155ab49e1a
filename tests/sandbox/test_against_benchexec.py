"""Peak memory and CPU time against BenchExec, which measures the same programs as commands."""

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
from measured_programs import PROGRAMS
from sandbox_helpers import MIB

from runner.sandbox import Limits, Sandbox, Work

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Measured:
    """Bytes at the most, and seconds on all cores beyond those of the start."""

    memory: float
    cpu_seconds: float


@pytest.fixture(scope="module")
def sandbox(core: int) -> Iterator[Sandbox]:
    with Sandbox([core], preload=["measured_programs", "lightgbm"]) as started:
        yield started


@pytest.fixture(scope="module", params=PROGRAMS)
def name(request: pytest.FixtureRequest) -> str:
    program: str = request.param
    return program


@pytest.fixture(scope="module")
def theirs(name: str, core: int, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return by_benchexec(core, tmp_path_factory.mktemp("program"), name)


def test_a_command(name: str, theirs: Measured, sandbox: Sandbox) -> None:
    """The same command, started by BenchExec and by a work: its whole memory."""
    ours = by_sandbox(sandbox, "measured_programs:as_command", name)
    assert ours.memory == pytest.approx(theirs.memory, rel=0.05, abs=5e6)
    # The work that starts the command and waits for it takes some milliseconds of its own.
    assert ours.cpu_seconds == pytest.approx(theirs.cpu_seconds, rel=0.05, abs=0.025)


def test_a_work(name: str, theirs: Measured, sandbox: Sandbox, core: int, tmp_path: Path) -> None:
    """A work in a warm child, against what the command uses beyond its start."""
    start = by_benchexec(core, tmp_path, name, "--idle")
    ours = by_sandbox(sandbox, "measured_programs:as_work", name)
    assert ours.memory == pytest.approx(theirs.memory - start.memory, rel=0.05, abs=5e6)
    assert ours.cpu_seconds == pytest.approx(theirs.cpu_seconds, rel=0.05, abs=0.01)


def by_benchexec(core: int, folder: Path, *arguments: str) -> Measured:
    """A command's memory with its start, and its CPU time without.

    The libraries' files are in the page cache, charged to this process, which imported them.
    """
    log = folder / "log"
    command = [sys.executable, "-m", "benchexec.runexecutor", "--no-container", "--output", log]
    limits = ["--cores", str(core), "--memlimit", "1GB", "--walltimelimit", "120"]
    program = ["--", sys.executable, measured_programs.__file__, *arguments]
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, *limits, *program],
        capture_output=True,
        text=True,
        env={**os.environ, **one_thread},
    )
    told = dict(line.split("=", 1) for line in done.stdout.splitlines())
    written = log.read_text().splitlines()
    assert told.get("returnvalue") == "0", done.stderr + "\n".join(written)
    start = float(written[-1])
    return Measured(float(told["memory"].rstrip("B")), float(told["cputime"].rstrip("s")) - start)


def by_sandbox(sandbox: Sandbox, function: str, name: str) -> Measured:
    """A work's memory beyond its baseline, and its CPU time; a command's without its start."""
    work = Work(function, pickle.dumps(name), 1, warm_up="measured_programs:warm_up")
    result = sandbox.run(work, Limits(cpus=1, memory=10**9, seconds=120))
    (finding,) = result.findings
    usage = result.usage
    assert finding.outcome == "ok", result
    assert usage.peak_mib is not None
    assert usage.baseline_mib is not None
    assert usage.cpu_seconds is not None
    memory = (usage.peak_mib - usage.baseline_mib) * MIB
    return Measured(memory, usage.cpu_seconds - finding.fields.get("start", 0.0))
