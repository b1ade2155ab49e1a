"""A thousand evaluations of which a third misbehave, and what is left of them: their rows."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest
from engine_helpers import Jobs, Quiet, Table, job, settings
from misbehaviour import SHM_KEY

from runner.engine import run
from runner.sandbox import Limits

MARK = "RUNNER_TEST_MARK"
EVALUATIONS = 1000
SLEEPERS = 6

# What each way of misbehaving must come to.
EXPECTED: dict[str, tuple[str, str | None]] = {
    "well": ("ok", None),
    "allocate": ("memory", "memory"),
    "sleep": ("timeout", "wall"),
    "spin": ("timeout", "cpu"),
    "segfault": ("crash", "signal 11"),
    "raise": ("error", "ValueError"),
    "exit": ("crash", "no result"),
    "daemon": ("ok", None),
    "bomb": ("crash", "processes"),
    "flood": ("ok", None),
    "write": ("crash", "file-size"),
    "share": ("ok", None),
    "forge": ("error", "record"),
}
QUICK = [kind for kind in EXPECTED if kind not in ("well", "sleep", "spin", "bomb")]
LIMITS = Limits(
    cpus=1,
    memory=200_000_000,
    seconds=8.0,
    cpu_seconds=1.0,
    processes=32,
    file_size=8_000_000,
)


class Machine:
    """What this run has on the machine: it is told by a mark from what others have."""

    def __init__(self, scratch: Path):
        self.mark = f"robust-{uuid.uuid4().hex}"
        self.scratch = scratch
        self.owners: set[int] = set()

    def note_owners(self, rows: pa.Table) -> None:
        """Remember the processes of now, among them the slots, whose groups are named by them."""
        self.owners |= {process.pid for process in self.processes()}

    def processes(self) -> list[psutil.Process]:
        return [p for p in psutil.process_iter() if p.pid != os.getpid() and self._is_ours(p)]

    def _is_ours(self, process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error):
            alive = process.status() != psutil.STATUS_ZOMBIE
            return alive and process.environ().get(MARK) == self.mark
        return False

    def leftovers(self) -> list[str]:
        """Whatever there still is of the run."""
        found = [f"process {' '.join(process.cmdline())}" for process in self.processes()]
        for folder, _, _ in os.walk("/sys/fs/cgroup"):
            owner = re.search(r"/runner-(\d+)-\d+-\d+$", folder)
            if owner and int(owner[1]) in self.owners:
                found.append(f"group {folder}")
        mounts = Path("/proc/self/mounts").read_text().splitlines()
        found += [f"mount {line}" for line in mounts if str(self.scratch) in line]
        found += [f"file {path}" for path in self.scratch.iterdir()]
        found += [f"shared memory {p}" for p in Path("/dev/shm").glob(f"{self.mark}*")]
        for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
            if SHM_KEY <= int(line.split()[0]) & 0xFFFFFFFF <= SHM_KEY + 0xFFFF:
                found.append(f"segment {line}")
        return found


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    scratch = Path(tempfile.mkdtemp(prefix="rt", dir="/tmp"))
    machine = Machine(scratch)
    monkeypatch.setenv(MARK, machine.mark)
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    yield machine
    for process in machine.processes():
        process.kill()
    shutil.rmtree(scratch, ignore_errors=True)


def kinds() -> list[str]:
    """What each of the jobs does, those that misbehave spread among the others."""
    odd = ["sleep"] * SLEEPERS + ["spin", "bomb"] * 10
    odd += [QUICK[i % len(QUICK)] for i in range(EVALUATIONS // 3 - len(odd))]
    found = ["well"] * EVALUATIONS
    for index, kind in enumerate(odd):
        found[3 * index] = kind
    return found


# Sleepers and spinners alone take a minute of one slot.
@pytest.mark.slow
def test_a_third_misbehaves_and_nothing_but_rows_is_left(machine: Machine) -> None:
    planned = {f"{kind}{index}": kind for index, kind in enumerate(kinds())}
    jobs = [
        job(name, 8.0 if kind == "sleep" else 0.02, kind=kind, mark=machine.mark)
        for name, kind in planned.items()
    ]
    table = Table(machine.note_owners)
    run(settings(function="misbehaviour:act", limits=LIMITS), Jobs(jobs), table, Quiet())
    rows = table.by_key()
    assert len(rows) == EVALUATIONS
    found = Counter((planned[key[:-2]], row["outcome"], row["reason"]) for key, row in rows.items())
    assert found == Counter((kind, *EXPECTED[kind]) for kind in planned.values())
    assert {row["attempt"] for row in rows.values()} == {1}
    assert all(len(row["log_tail"] or "") <= 64 << 10 for row in rows.values())
    assert machine.leftovers() == []


def test_what_was_recorded_before_a_death_stays(cluster: Any) -> None:
    table = Table()
    jobs = [job(f"half{i}", scores=[0.5, 0.5], kind="half") for i in range(10)]
    jobs += [job(f"well{i}", kind="well") for i in range(20)]
    one = settings(address=cluster.address, function="misbehaviour:act", limits=LIMITS)
    run(one, Jobs(jobs), table, Quiet())
    for key, row in table.by_key().items():
        expected = ("crash", "signal 11") if key.endswith("-1") else ("ok", None)
        assert (row["outcome"], row["reason"]) == expected
