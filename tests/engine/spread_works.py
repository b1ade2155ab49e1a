"""What test_spread.py calls: workers find it by the driver's path."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def square(number: int) -> int:
    return number * number


def process(number: int) -> int:
    return os.getpid()


def die_at_first(mark: Path) -> str:
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def die(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
