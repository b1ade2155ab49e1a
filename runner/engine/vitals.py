"""Notices the end of a process that a local Ray can't do without, long before Ray does."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_SERVERS = ("gcs_server", "raylet")
# By their titles, and by their files until they have given themselves these.
_AGENTS = {
    "DashboardAgent": (b"ray::DashboardAgent", b"dashboard/agent.py"),
    "RuntimeEnvAgent": (b"ray::RuntimeEnvAgent", b"runtime_env/agent/main.py"),
}

STUCK_SECONDS = 15.0
"""A driver that hasn't ended so long after Ray did is waiting for it, and would for a minute."""


def ended_message(name: str) -> str:
    """What a person is told of the end of one of Ray's processes."""
    return f"Ray's process {name} has ended; the same command goes on"


class Vitals:
    """The processes of this driver's own Ray.

    Attributes:
        dead: The name of the first of them that has ended; None while all live.
    """

    def __init__(self, pids: Mapping[str, int]):
        self.dead: str | None = None
        self._pids = pids
        self._last_words: Callable[[str], None] = lambda name: None
        self._end, self._told = os.pipe()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @classmethod
    def of_own_ray(cls) -> Vitals:
        """Those of the Ray that this process has just started."""
        from ray._private import worker

        started = worker._global_node.all_processes
        pids = {name: started[name][0].process.pid for name in _SERVERS}
        return cls(pids | dict(_agents(pids["raylet"])))

    def say_when_stuck(self, last_words: Callable[[str], None]) -> None:
        """Have this called, from another thread, where the driver can't end by itself.

        Args:
            last_words: Takes the name of the process that has ended.
        """
        self._last_words = last_words

    def __enter__(self) -> Vitals:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._told)
        self._thread.join()
        os.close(self._end)

    def _watch(self) -> None:
        with contextlib.ExitStack() as opened:
            names = {}
            for name, pid in self._pids.items():
                with contextlib.suppress(ProcessLookupError):
                    descriptor = os.pidfd_open(pid)
                    opened.callback(os.close, descriptor)
                    names[descriptor] = name
            ended, _, _ = select.select([self._end, *names], [], [])
            if self._end in ended:
                return
            # Agents first: with one of them Ray ends its servers.
            self.dead = min(map(names.__getitem__, ended), key=lambda name: name in _SERVERS)
        if not select.select([self._end], [], [], STUCK_SECONDS)[0]:
            self._last_words(self.dead)


def _agents(raylet: int) -> Iterator[tuple[str, int]]:
    for thread in Path(f"/proc/{raylet}/task").iterdir():
        for pid in (thread / "children").read_text().split():
            # A worker may end while it is looked at.
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
                for name, marks in _AGENTS.items():
                    if any(mark in line for mark in marks):
                        yield name, int(pid)
