"""Sandboxes for the tests, and what must be left of them afterwards: nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.sandbox import Limits, Means, Result, Sandbox, probe

# Children import the works by name, with the path of the process that owns the sandbox.
sys.path.insert(0, str(Path(__file__).parent))

from sandbox_helpers import MIB, Run, groups, processes, work

MEANS: dict[str, Callable[[], Means]] = {"strongest": probe, "fallback": Means}


@pytest.fixture(scope="session")
def core() -> int:
    return min(os.sched_getaffinity(0))


@pytest.fixture(scope="module", params=MEANS)
def sandbox(request: pytest.FixtureRequest, core: int) -> Iterator[Sandbox]:
    """A sandbox of one core, by the strongest means of this machine and by the weakest."""
    with Sandbox([core], preload=["sandbox_works"], means=MEANS[request.param]()) as started:
        yield started
    assert processes(os.getpid()) == []
    assert groups(os.getpid()) == []


@pytest.fixture
def run(sandbox: Sandbox) -> Run:
    """Runs a function of ``sandbox_works`` in a sandbox."""

    def run(
        function: str,
        argument: Any = None,
        evaluations: int = 1,
        *,
        seconds: float = 20,
        memory: int = 200 * MIB,
        **rest: Any,
    ) -> Result:
        limits = Limits(cpus=1, memory=memory, seconds=seconds)
        return sandbox.run(work(function, argument, evaluations, **rest), limits)

    return run
