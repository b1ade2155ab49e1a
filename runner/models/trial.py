"""Imports a module in a process of its own first: one that crashes or hangs there harms nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from runner.errors import InputError

DEADLINE = 120.0
"""Seconds; large libraries on a busy machine take tens of them."""

_RAISED = 94
_IMPORTED = 95
# Exit statuses that no interpreter gives by itself.
_SCRIPT = f"""
import importlib, os, sys
sys.path[:] = sys.argv[2:]
try:
    importlib.import_module(sys.argv[1])
except BaseException:
    os._exit({_RAISED})
os._exit({_IMPORTED})
"""


def try_import(name: str, *, deadline: float = DEADLINE) -> None:
    """Import a module in a child process that finds it as this one does.

    What an exception says, an import in this process tells better: it passes here.

    Args:
        name: ``package.module``; one that is imported here already isn't tried again.
        deadline: Seconds that it may take.

    Raises:
        InputError: The import ends the process, or takes longer.
    """
    if name in sys.modules:
        return
    child = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, name, *sys.path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        status = child.wait(deadline)
    except subprocess.TimeoutExpired:
        raise InputError(
            f"module {name!r} isn't imported after {deadline:g} s: let it do no work at import"
        ) from None
    finally:
        _end(child)
    if status not in (_RAISED, _IMPORTED):
        raise InputError(f"module {name!r} ends Python when it is imported: {_death(status)}")


def _end(child: subprocess.Popen[bytes]) -> None:
    """End what is left of a child and of what it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    child.wait()


def _death(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = "unknown"
    return f"signal {-status} ({name})"
