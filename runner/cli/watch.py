"""``runner report --watch``: follow a run that goes on, with its page and its progress."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli.folder import RESULTS, results_folder
from runner.cli.progress import StudyProgress

if TYPE_CHECKING:
    from runner.report.estimate import Estimate
    from runner.report.kinds import AnyReport
    from runner.report.mlbench import Choices
    from runner.report.progress import Progress
    from runner.store import Store


def follow(
    results: Path | None, output: Path | None, seconds: float, choices: Choices
) -> AnyReport | None:
    """Rewrite the page every few seconds until the run has ended, then write its report.

    Returns:
        The report; None where the watch was interrupted before.

    Raises:
        InputError: What is in the results' folder is something else.
    """
    from runner.report.watch import Order, watch

    # What is watched goes first wherever both want a core.
    os.nice(19)
    order = Order(
        find=_finder(results),
        output=lambda: output or results_folder(results) / "report",
        seconds=seconds,
        choices=choices,
    )
    with _Watcher(results) as watcher:
        try:
            return watch(order, watcher)
        except KeyboardInterrupt:
            watcher.message(watcher.farewell)
            return None


def _finder(results: Path | None) -> Callable[[], Store | None]:
    from runner.store import Store

    def find() -> Store | None:
        if results is None and not any(RESULTS.glob("*/attempts")):
            return None
        folder = results_folder(results)
        return Store.find(folder)

    return find


class _Watcher(StudyProgress):
    """Tells on stderr what the watch sees."""

    def __init__(self, results: Path | None):
        super().__init__(self._best)
        self._results = results or RESULTS
        self._scores: Mapping[tuple[str, str], float] = {}
        self._told: str | None = None
        self.farewell = "stopped waiting: no run is recorded yet"

    def waiting(self) -> None:
        self._tell(f"waiting for a run: none is recorded yet in {self._results}")

    def seen(self, progress: Progress, estimate: Estimate, page: Path) -> None:
        from runner.report.live import best

        self._scores = best(progress)
        self.farewell = f"stopped watching: run {progress.run_id} hadn't ended; {page} says so too"
        self._tell(f"watching run {progress.run_id}: open {page}")
        left = None if estimate.end is None else max(estimate.end - time.time(), 0.0)
        self.progress(progress.done, progress.planned, left)

    def _best(self) -> Mapping[tuple[str, str], float]:
        return self._scores

    def _tell(self, text: str) -> None:
        if text != self._told:
            self._told = text
            self.message(text)
