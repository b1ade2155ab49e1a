"""Waiting for a quiet machine, on made-up ones; and what this one tells."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.engine.quiet import (
    QUIET_CORES,
    WINDOW_SECONDS,
    QuietWatch,
    busy_seconds,
    read_governor,
    read_turbo,
)


class Machine:
    """A machine on which so many cores are busy at each moment."""

    def __init__(self, cores: Callable[[float], float]):
        self.now = 100.0
        self._cores = cores
        self._busy = 0.0

    def sleep(self, seconds: float) -> None:
        self._busy += self._cores(self.now - 100.0) * seconds
        self.now += seconds

    def watch(self, patience: float) -> QuietWatch:
        return QuietWatch(patience, lambda: self._busy, lambda: self.now, self.sleep)


def test_a_quiet_machine_is_waited_for_no_longer_than_a_look() -> None:
    machine = Machine(lambda moment: 0.9 * QUIET_CORES)
    assert machine.watch(60.0).wait()
    assert machine.now == pytest.approx(100.0 + WINDOW_SECONDS)


def test_the_end_of_the_noise_is_waited_for() -> None:
    machine = Machine(lambda moment: 2.0 if moment < 10.0 else 0.0)
    assert machine.watch(60.0).wait()
    assert 110.0 <= machine.now <= 110.0 + 3 * WINDOW_SECONDS


def test_patience_ends_and_returns_with_the_quiet() -> None:
    machine = Machine(lambda moment: 1.0 if moment < 70.0 or 90.0 < moment < 100.0 else 0.0)
    watch = machine.watch(60.0)
    assert not watch.wait()
    assert 160.0 <= machine.now <= 160.0 + 2 * WINDOW_SECONDS
    before = machine.now
    assert not watch.wait()
    assert machine.now == pytest.approx(before + WINDOW_SECONDS)
    machine.now = 175.0
    assert watch.wait()
    machine.now = 191.0
    assert watch.wait()
    assert machine.now >= 200.0


def test_this_machines_clock_counts_a_busy_core() -> None:
    before = busy_seconds()
    spin = "import time; end = time.monotonic() + 0.5\nwhile time.monotonic() < end: pass"
    began = time.monotonic()
    used = subprocess.Popen([sys.executable, "-c", spin])
    _, _, usage = os.wait4(used.pid, 0)
    used.returncode = 0
    grown = busy_seconds() - before
    cores = os.cpu_count() or 1
    assert usage.ru_utime - 0.1 <= grown <= cores * (time.monotonic() - began) + 0.1


def test_governor_and_turbo(tmp_path: Path) -> None:
    assert read_governor([0, 1], tmp_path) is None
    assert read_turbo(tmp_path) is None
    for core, governor in enumerate(["powersave", "performance", "powersave"]):
        folder = tmp_path / f"cpu{core}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{governor}\n")
    assert read_governor([1], tmp_path) == "performance"
    assert read_governor([0, 1, 2], tmp_path) == "performance+powersave"
    (tmp_path / "cpufreq").mkdir()
    (tmp_path / "cpufreq" / "boost").write_text("1\n")
    assert read_turbo(tmp_path) is True
    (tmp_path / "intel_pstate").mkdir()
    (tmp_path / "intel_pstate" / "no_turbo").write_text("1\n")
    assert read_turbo(tmp_path) is False
