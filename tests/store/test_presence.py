"""A run sees others that write to its store, and none that has died."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.store import present
from runner.store.presence import FOLDER

OTHER = """
import sys
from runner.store.presence import present
with present(sys.argv[1]) as others:
    print(len(others), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "0\n"
    yield process
    process.kill()
    process.wait()


def test_a_run_that_lives_is_seen(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    with present(str(tmp_path)) as found:
        assert [(one.process, one.node) for one in found] == [(other.pid, socket.gethostname())]
        with present(str(tmp_path)) as both:
            assert {one.process for one in both} == {other.pid, os.getpid()}
    other.communicate(timeout=30)
    with present(str(tmp_path)) as found:
        assert found == ()
    assert not list((tmp_path / FOLDER).iterdir())


def test_a_run_that_was_killed_is_not(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    other.kill()
    other.wait()
    assert len(list((tmp_path / FOLDER).iterdir())) == 1
    with present(str(tmp_path)) as found:
        assert found == ()
    assert not list((tmp_path / FOLDER).iterdir())


def test_where_nothing_can_be_written_nobody_is_seen(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("")
    with present(str(tmp_path)) as found:
        assert found == ()
