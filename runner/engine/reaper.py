"""Ends what is left of a local Ray when its driver is gone.

Run as a script beside the driver, it waits for the end of its standard input: a driver that was
killed can't clean up, and Ray's agents would outlive it by minutes. Imports the standard library
alone, so that it starts in a few milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 10.0


def start_reaper(folder: Path) -> subprocess.Popen[bytes]:
    """Start a reaper that acts when this process ends.

    Args:
        folder: Ray's temporary folder, which no other Ray uses.

    Returns:
        The reaper; it ends by itself once its standard input is closed.
    """
    return subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # A Ctrl-C in the terminal is for the driver.
        start_new_session=True,
    )


def reap(folder: Path) -> None:
    """Kill every other process that has a file of the folder open, until there is none."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        users = [pid for pid in _processes() if _uses(pid, str(folder))]
        if not users:
            return
        for pid in users:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def _processes() -> list[int]:
    return [
        int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()
    ]


def _uses(pid: int, folder: str) -> bool:
    # Processes end while they are looked at, and those of other users can't be.
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/fd/{fd}").startswith(f"{folder}/"):
                    return True
    return False


def main() -> None:
    """Wait for the driver's end, then clear up what it left."""
    folder = Path(sys.argv[1])
    sys.stdin.buffer.read()
    if folder.exists():
        reap(folder)
        shutil.rmtree(folder, ignore_errors=True)
        sweep = "from runner.engine.janitor import sweep_node; sweep_node()"
        os.execv(sys.executable, [sys.executable, "-c", sweep])


if __name__ == "__main__":
    main()
