"""What the sandbox's tests share."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable
from typing import Any

from runner.sandbox import Limits, Result, Sandbox, Work, cgroups, procfs
from runner.sandbox.owner import MARK

MIB = 1 << 20
PATIENT = Limits(cpus=1, memory=1 << 30, seconds=30)

Run = Callable[..., Result]


def work(function: str, argument: Any = None, evaluations: int = 1, **rest: Any) -> Work:
    """A work of the module ``sandbox_works``."""
    return Work(f"sandbox_works:{function}", pickle.dumps(argument), evaluations, **rest)


def told(result: Result, index: int = -1) -> tuple[str, str | None]:
    """Outcome and reason of one finding."""
    finding = result.findings[index]
    return finding.outcome, finding.reason


def processes(owner: int) -> list[int]:
    """Zygotes of a process, and whatever descends from them."""
    own = f"runner-{owner}-"
    return [pid for pid, name in procfs.environment(MARK) if name.startswith(own)]


def groups(owner: int) -> list[str]:
    """Control groups that a process made and that still stand."""
    roots = {base.root for base in cgroups.own_bases().values()}
    found = [(place, name) for root in roots for place, names, _ in os.walk(root) for name in names]
    return [f"{place}/{name}" for place, name in found if name.startswith(f"runner-{owner}-")]


def none_left(sandbox: Sandbox) -> bool:
    """Whether nothing of the only sandbox's last work lives on, its zygote aside."""
    if sandbox.enforced["files"] != "none":
        most = 0
    else:
        # The first of a namespace has one that waits for it outside.
        most = 2 if sandbox.enforced["visibility"] == "pid-namespace" else 1
    return len(processes(os.getpid())) <= most and groups(os.getpid()) == []


def soon(condition: Callable[[], bool]) -> bool:
    """Whether ``condition`` holds within five seconds."""
    give_up = time.monotonic() + 5
    while not condition():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.01)
    return True
