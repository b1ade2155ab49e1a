"""Waits for a quiet machine before a time that is to be published is taken, and says how fast its
cores may run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

QUIET_CORES = 0.25
"""Cores that all processes together may keep busy on a quiet machine: Ray's own and the driver
take some hundredths of one."""

WINDOW_SECONDS = 0.2

PATIENCE_SECONDS = 60.0

_TICKS = os.sysconf("SC_CLK_TCK")
_CPUS = Path("/sys/devices/system/cpu")


def busy_seconds(stat: Path = Path("/proc/stat")) -> float:
    """Core seconds that this machine has been busy since it started, stolen ones included.

    Load averages won't do: they remember the last minute, our own jobs in it.
    """
    with stat.open() as file:
        fields = [int(field) for field in file.readline().split()[1:9]]
    user, nice, system, _, _, irq, softirq, steal = fields
    return (user + nice + system + irq + softirq + steal) / _TICKS


class QuietWatch:
    """Waits until a machine is quiet.

    A machine that stayed noisy for as long as one waits is looked at once from then on, until it
    is quiet again: otherwise each job of a study would wait in vain.

    Args:
        patience: Seconds that one wait may last.
        busy: Core seconds that the machine has been busy so far.
        clock: Seconds.
        sleep: Waits for so many of them.
    """

    def __init__(
        self,
        patience: float = PATIENCE_SECONDS,
        busy: Callable[[], float] = busy_seconds,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self._patience = patience
        self._busy = busy
        self._clock = clock
        self._sleep = sleep
        self._gave_up = False

    def wait(self) -> bool:
        """Return once the machine is quiet, or patience is at its end: whether it is quiet."""
        until = self._clock() + (0.0 if self._gave_up else self._patience)
        while not (quiet := self._look()) and self._clock() < until:
            pass
        self._gave_up = not quiet
        return quiet

    def _look(self) -> bool:
        began, before = self._clock(), self._busy()
        self._sleep(WINDOW_SECONDS)
        return (self._busy() - before) / (self._clock() - began) <= QUIET_CORES


def read_governor(cores: Sequence[int], cpus: Path = _CPUS) -> str | None:
    """How these cores' frequency is governed, such as ``performance``; None where nothing tells."""
    found = set()
    for core in cores:
        with suppress(OSError):
            found.add((cpus / f"cpu{core}" / "cpufreq" / "scaling_governor").read_text().strip())
    return "+".join(sorted(found)) or None


def read_turbo(cpus: Path = _CPUS) -> bool | None:
    """Whether cores may exceed their nominal frequency; None where nothing tells."""
    with suppress(OSError):
        return (cpus / "intel_pstate" / "no_turbo").read_text().strip() == "0"
    with suppress(OSError):
        return (cpus / "cpufreq" / "boost").read_text().strip() == "1"
    return None
