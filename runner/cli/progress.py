"""Progress of a long command on stderr: a bar on a terminal, a line every 30 s elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

LINE_SECONDS = 30.0

Best = Callable[[], Mapping[tuple[str, str], float]]


class StudyProgress:
    """Shows evaluations done, the best score so far by system and the time left.

    Args:
        best: Gives the best score so far by task and system.
        things: What is counted.
    """

    def __init__(self, best: Best = dict, things: str = "evaluations"):
        self.best = best
        self._things = things
        self._console = Console(stderr=True)
        self._bar: Progress | None = None
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[rest]}"),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task(things, total=None, rest="")
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def progress(self, done: int, total: int, seconds_left: float | None) -> None:
        # Before anything is done a time that short is a guess, and nothing is near its end.
        known = seconds_left if done or (seconds_left or 0) >= 1 else None
        left, best = _left(known), self._best_text()
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, rest=f"{left}{best}")
        elif time.monotonic() - self._last_line >= LINE_SECONDS:
            self._last_line = time.monotonic()
            counts = f"{done} of {total} {self._things}"
            click.echo(f"{counts}{', ' if left else ''}{left}{best}", err=True)
            sys.stderr.flush()

    def message(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False)
        else:
            click.echo(text, err=True)

    def _best_text(self) -> str:
        best: dict[str, list[float]] = {}
        for (_, system), score in self.best().items():
            best.setdefault(system, []).append(score)
        if not best:
            return ""
        # With several tasks the mean over tasks stands for a system.
        parts = (f"{name} {sum(scores) / len(scores):.4f}" for name, scores in best.items())
        return "; best AUC " + ", ".join(parts)


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 1:
        # What runs on takes longer than predicted, perhaps up to its limit.
        return "finishing"
    if seconds < 90:
        return f"about {seconds:.0f} s left"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min left"
    return f"about {seconds / 3600:.1f} h left"
