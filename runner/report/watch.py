"""Keeps a run's page up to date while the run goes on, without slowing it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from runner.errors import InputError
from runner.report.estimate import Estimate, estimate
from runner.report.kinds import AnyReport, preview_report, write_report
from runner.report.live import Watched, live
from runner.report.mlbench import Choices
from runner.report.page import Content, write_page
from runner.report.progress import Progress, ProgressReader
from runner.store import Store

ROWS_SHARE = 0.03
"""The share of a core that asking how far the run is may take."""
TABLES_SHARE = 0.02
"""The same of making tables and charts."""


class Watcher(Protocol):
    """Who wants to know what a watch sees."""

    def waiting(self) -> None:
        """There is nothing to watch yet."""

    def seen(self, progress: Progress, estimate: Estimate, page: Path) -> None:
        """The page was written."""


@dataclass(frozen=True)
class Order:
    """What to watch and how.

    Attributes:
        find: Gives the store; None while there is none.
        output: Gives the folder for the page, and for the report when the run has ended, once
            there is a store.
        seconds: The least time between two pages.
        choices: What of mlbench's study is wanted otherwise than the paper has it.
        sleep: Lets some seconds pass.
    """

    find: Callable[[], Store | None]
    output: Callable[[], Path]
    seconds: float
    choices: Choices | None = None
    sleep: Callable[[float], None] = time.sleep


def watch(order: Order, watcher: Watcher) -> AnyReport:
    """Rewrites the page of the latest run until that has ended, then writes its whole report.

    Where another run begins meanwhile, that one is watched. A watch that is interrupted leaves a
    page that says so.

    Raises:
        InputError: The store or the output aren't what they should be.
    """
    while (store := order.find()) is None:
        watcher.waiting()
        order.sleep(order.seconds)
    output = order.output()
    reader = ProgressReader(store)
    page = _Page(store, output, order)
    try:
        while (progress := reader.read()) is None or not progress.ended:
            if progress is None:
                watcher.waiting()
            else:
                page.rewrite(progress)
                watcher.seen(progress, page.estimate, page.file)
            page.rest()
        return write_report(store, output, progress.run_id, order.choices)
    except BaseException:
        page.give_up()
        raise


class _Page:
    """The page, and what may be spent on it."""

    def __init__(self, store: Store, output: Path, order: Order):
        self._store = store
        self._output = output
        self._order = order
        self._again = order.seconds
        self._progress: Progress | None = None
        self._tables: Content | None = None
        self._tables_of: Progress | None = None
        self._tables_made = self._tables_due = 0.0
        self._spent = time.process_time()
        self._warm = False
        self.estimate = Estimate(None, "")
        self.file = output

    def rewrite(self, progress: Progress) -> None:
        """Make the page say how far the run is, its tables too where these are due."""
        if self._progress is None or self._progress.run_id != progress.run_id:
            self._tables_due = 0.0
        if progress is not self._tables_of and time.monotonic() >= self._tables_due:
            self._make_tables(progress)
        self._progress = progress
        self._write(self._again)

    def rest(self) -> None:
        """Wait, the longer the more was spent."""
        spent = time.process_time() - self._spent
        # The first round loads what the others only use.
        if self._warm:
            self._again = max(self._order.seconds, spent / ROWS_SHARE)
        self._warm = self._progress is not None
        self._order.sleep(self._again)
        self._spent = time.process_time()

    def give_up(self) -> None:
        """Say on the page that it won't be made again."""
        if self._progress is not None:
            with suppress(InputError):
                self._write(None)

    def _make_tables(self, progress: Progress) -> None:
        begun = time.process_time()
        self._tables = preview_report(self._store, progress.run_id)
        self._tables_of = progress
        self._tables_made = time.time()
        spent = time.process_time() - begun
        self._tables_due = time.monotonic() + spent / TABLES_SHARE
        # On an account of its own.
        self._spent += spent

    def _write(self, again: float | None) -> None:
        assert self._tables is not None
        assert self._progress is not None
        now = time.time()
        self.estimate = estimate(self._progress, now)
        watched = Watched(now, self._tables_made, again)
        self._output.mkdir(parents=True, exist_ok=True)
        content = replace(self._tables, live=live(self._progress, self.estimate, watched))
        self.file = write_page(content, self._output)
