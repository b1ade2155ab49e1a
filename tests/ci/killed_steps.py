"""Takes steps and is killed at them: by the clock, or at one of the calls that reach the disk.

Run as a program: FOLDER, then `clock` or `calls`, and a count. Each kill is of a process of its
own, forked where all is imported, so that it falls into the step and not into Python's start.
Prints a JSON line a kill: what was shown, the steps used after it, and after the same call again.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# All that a step imports, and nothing that starts a thread before the forks.
import numpy  # noqa: F401
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet  # noqa: F401

import runner.ci.alarm
import runner.ci.delivery
import runner.ci.held_out
import runner.ci.reports
import runner.ci.script  # noqa: F401
from runner.ci import load_ci_file
from runner.ci.ledgers import begun_accounts
from runner.cli import main
from runner.cli.ci import test  # noqa: F401

_CALLS = ((os, "write"), (os, "fsync"), (os, "replace"), (fcntl, "flock"))


def main_of_kills(folder: Path, way: str, count: int) -> None:
    load_ci_file(folder / "ci.yaml")
    seconds = timed(folder, "warm.csv")
    rng = random.Random(0)
    for i in range(count):
        new = f"new-{i}.csv"
        if way == "clock":
            # Beyond the end as well: killed or not, the account must be right.
            delay = rng.uniform(0, 1.2 * seconds)
            shown = run(folder, new, lambda pid, delay=delay: kill_after(pid, delay))
        else:
            shown = run(folder, new, at_call=i)
        used = used_steps(folder)
        again = run(folder, new)
        print(json.dumps([shown, used, again, used_steps(folder)]), flush=True)


def timed(folder: Path, new: str) -> float:
    start = time.monotonic()
    run(folder, new)
    return time.monotonic() - start


def run(
    folder: Path, new: str, killed: Callable[[int], None] | None = None, at_call: int | None = None
) -> str:
    """What `runner ci test` prints, in a process that may be killed."""
    out = folder / "out.txt"
    out.unlink(missing_ok=True)
    pid = os.fork()
    if pid == 0:
        child(folder, new, out, at_call)
    if killed is not None:
        killed(pid)
    os.waitpid(pid, 0)
    return out.read_text() if out.exists() else ""


def child(folder: Path, new: str, out: Path, at_call: int | None) -> None:
    descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    if at_call is not None:
        arm(at_call)
    try:
        main(["ci", "test", str(folder / "ci.yaml"), "--new", str(folder / new)])
    except SystemExit as ended:
        os._exit(int(ended.code or 0))
    finally:
        os._exit(99)


def arm(at_call: int) -> None:
    """Be killed at a call: even numbers before it, odd ones after it."""
    made = 0

    def counted(whole: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal made
            made += 1
            if made == at_call // 2 + 1 and at_call % 2 == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            found = whole(*arguments, **named)
            if made == at_call // 2 + 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return call

    for module, name in _CALLS:
        setattr(module, name, counted(getattr(module, name)))


def kill_after(pid: int, delay: float) -> None:
    time.sleep(delay)
    os.kill(pid, signal.SIGKILL)


def used_steps(folder: Path) -> int:
    accounts = begun_accounts(load_ci_file(folder / "ci.yaml"))
    return accounts[0][1].used if accounts else 0


if __name__ == "__main__":
    main_of_kills(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
