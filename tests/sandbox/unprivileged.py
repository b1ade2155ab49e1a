"""Becomes a user without rights and checks that the sandbox keeps what its probe says there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import sandbox_works
from sandbox_helpers import processes, work

from runner.sandbox import Limits, Means, Result, Sandbox, probe

NOBODY = 65534


def others_may_read(path: str) -> bool:
    """Whether a user without rights can start this interpreter and import these packages."""
    folders = [Path(path).resolve(), *Path(path).resolve().parents]
    return all(folder.stat().st_mode & 0o005 for folder in folders)


def run(sandbox: Sandbox, how: str, argument: object, seconds: float = 20) -> Result:
    limits = Limits(1, 200 << 20, seconds)
    result = sandbox.run(work("recorded_then", (how, argument), 2), limits)
    assert result.findings[0].outcome == "ok", result
    return result


def main() -> None:
    means = None
    if os.getuid() == 0 and all(map(others_may_read, (sys.executable, sandbox_works.__file__))):
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        os.environ["HOME"] = "/"
        assert probe() == Means()
    elif os.getuid() == 0:
        means = Means()
    with Sandbox([min(os.sched_getaffinity(0))], means=means) as sandbox:
        memory = run(sandbox, "allocate", 400)
        assert (memory.findings[1].outcome, memory.findings[1].reason) == ("memory", "memory"), memory
        late = run(sandbox, "daemonise_and_hang", None, seconds=0.5)
        assert late.findings[1].outcome == "timeout", late
        assert len(processes(os.getpid())) == 1
        assert run(sandbox, "segfault", None).findings[1].reason == "signal 11"
    print("all as promised")


main()
