"""Drivers that are interrupted or killed leave nothing behind; each starts a Ray of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

DRIVER = Path(__file__).with_name("driver.py")
MARK = "RUNNER_TEST_MARK"


class Driver:
    """A driver in a process of its own, with a mark in the environment of all its descendants."""

    def __init__(self, sleep: float):
        self.mark = uuid.uuid4().hex
        self.scratch = tempfile.mkdtemp(prefix="rt", dir="/tmp")
        environment = {
            **os.environ,
            MARK: self.mark,
            # A Ray that is named here must not be joined.
            "RAY_ADDRESS": "127.0.0.1:1",
            "TMPDIR": self.scratch,
        }
        environment.pop("RAY_AUTH_TOKEN", None)
        self.process = subprocess.Popen(
            [sys.executable, str(DRIVER), str(sleep)],
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            start_new_session=True,
        )

    def lines(self, count: int) -> list[str]:
        """The next lines that it prints."""
        assert self.process.stdout is not None
        return [self.process.stdout.readline().strip() for _ in range(count)]

    def alive(self) -> list[psutil.Process]:
        """The living processes with its mark, or with a file of its scratch folder open."""
        return [p for p in psutil.process_iter() if self._is_ours(p)]

    def _is_ours(self, process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error):
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            if process.environ().get(MARK) == self.mark:
                return True
            return any(file.path.startswith(self.scratch) for file in process.open_files())
        return False

    def wait_for_the_end_of_all(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := self.alive()) and time.monotonic() < until:
            time.sleep(0.2)
        assert not left


@pytest.fixture
def driver() -> Iterator[Driver]:
    driver = Driver(0.2)
    yield driver
    for process in driver.alive():
        process.kill()
    shutil.rmtree(driver.scratch, ignore_errors=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_driver_keeps_rows_and_leaves_nothing(
    driver: Driver, number: signal.Signals
) -> None:
    assert all(line.startswith("job") for line in driver.lines(4))
    assert len(driver.alive()) > 6
    if number == signal.SIGTERM:
        driver.process.send_signal(number)
    else:
        # A terminal sends a Ctrl-C to the whole group, and people send it twice.
        os.killpg(driver.process.pid, number)
        time.sleep(0.3)
        os.killpg(driver.process.pid, number)
    output, _ = driver.process.communicate(timeout=30)
    assert output.splitlines()[-1] == "interrupted"
    assert driver.process.returncode == 0
    driver.wait_for_the_end_of_all(5)
    assert not os.listdir(driver.scratch)


def test_killed_driver_leaves_nothing(driver: Driver) -> None:
    driver.lines(2)
    driver.process.kill()
    driver.process.wait()
    driver.wait_for_the_end_of_all(20)
    assert not os.listdir(driver.scratch)


@pytest.mark.parametrize(
    ("number", "processes"), [(signal.SIGINT, 3), (signal.SIGTERM, 3), (signal.SIGTERM, 6)]
)
def test_driver_interrupted_while_ray_starts(
    driver: Driver, number: signal.Signals, processes: int
) -> None:
    until = time.monotonic() + 30
    while len(driver.alive()) < processes and time.monotonic() < until:
        time.sleep(0.05)
    driver.process.send_signal(number)
    output, _ = driver.process.communicate(timeout=30)
    assert output.splitlines() == ["interrupted"]
    assert driver.process.returncode == 0
    driver.wait_for_the_end_of_all(5)
    assert not os.listdir(driver.scratch)


@pytest.mark.parametrize("name", ["raylet", "DashboardAgent", "RuntimeEnvAgent"])
def test_a_run_whose_ray_has_died_ends_soon(driver: Driver, name: str) -> None:
    driver.lines(2)
    (part,) = (p for p in driver.alive() if p.name().removeprefix("ray::") == name)
    part.kill()
    output, _ = driver.process.communicate(timeout=25)
    assert output.splitlines()[-1] == f"Ray's process {name} has ended; the same command goes on"
    assert driver.process.returncode == 0
    driver.wait_for_the_end_of_all(10)
    assert not os.listdir(driver.scratch)
