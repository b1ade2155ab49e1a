"""Calls spread over a Ray: right results, whatever becomes of the workers."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import spread_works

from runner.engine import InProcess, calling
from runner.errors import CannotRunError, InputError


def test_in_this_process() -> None:
    callers = InProcess()
    waiting = [callers.call(spread_works.square, number) for number in range(5)]
    assert [wait() for wait in waiting] == [0, 1, 4, 9, 16]


def test_on_ray_with_a_worker_killed(tmp_path: Path) -> None:
    handler = signal.getsignal(signal.SIGTERM)
    with calling("local") as callers:
        # Ray's own handlers don't stay.
        assert signal.getsignal(signal.SIGTERM) is handler
        waiting = [callers.call(spread_works.square, number) for number in range(5)]
        killed = callers.call(spread_works.die_at_first, tmp_path / "died")
        doomed = callers.call(spread_works.die, 0)
        processes = {callers.call(spread_works.process, number)() for number in range(3)}
        assert [wait() for wait in waiting] == [0, 1, 4, 9, 16]
        assert killed() == "alive"
        assert os.getpid() not in processes
        with pytest.raises(CannotRunError, match="lost a call 4 times"):
            doomed()


def test_no_cluster_there() -> None:
    with pytest.raises(InputError, match="can't reach"), calling("127.0.0.1:1"):
        pass
