"""How a short fit gets a time that can be published."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter

EXCLUSIVE = "exclusive"
"""The timing of evaluations that have a node to themselves."""
SHORT_SECONDS = 0.2
"""A fit that takes less is repeated where its time is to be published: a clock's resolution and a
single interruption weigh on it."""


def retime(again: Callable[[], float], times: list[float], until: float) -> None:
    """Add times of further fits until their total exceeds ``SHORT_SECONDS``.

    Args:
        again: Fits once more and gives its seconds.
        times: What is known so far, at least one.
        until: No fit begins that, as long as the last one, would end after this ``perf_counter``.
    """
    while sum(times) <= SHORT_SECONDS and perf_counter() + times[-1] < until:
        times.append(again())


def retime_seconds(
    timing: str, *, seconds: float, cpu_seconds: float | None, threads: int
) -> float | None:
    """How long a fit may be repeated for its time: not so long that a limit ends it.

    Args:
        timing: The study's; None comes back where its times aren't to be published.
        seconds: The limit of wall clock.
        cpu_seconds: That of processor time; None for none.
        threads: What a fit may use.
    """
    if timing != EXCLUSIVE:
        return None
    return min(seconds, (cpu_seconds or math.inf) / threads) / 2
