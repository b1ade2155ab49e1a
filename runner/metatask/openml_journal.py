"""What a build has learnt of the server, kept in its output folder so that it asks nothing twice.

Runs and tasks are in the openml package's cache. What changes at the server belongs to one build:
its lists of evaluations and suites, and which runs can't be had.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from runner.metatask.openml_selection import Candidate
from runner.openml import Archive, Evaluation
from runner.replacing import replacing

FOLDER = ".openml"
PAGE = 1000
"""Evaluations a request: the server's own limit is ten times that, and it is slow."""


class Journal:
    """What a build was told.

    Args:
        output: The build's output folder.
        archive: Whom to ask for what isn't known yet.
        page: Evaluations a request.
    """

    def __init__(self, output: Path, archive: Archive, page: int = PAGE):
        self._folder = output / FOLDER
        self.archive = archive
        self._page = page

    def suite(self, number: str) -> tuple[int, ...]:
        """The tasks of a suite.

        Raises:
            InputError: There is no such suite, or it can't be had.
        """
        return tuple(self._once(f"suite_{number}", lambda: list(self.archive.suite(number))))

    def evaluations(self, task: int, metric: str, *, descending: bool) -> Iterator[Evaluation]:
        """All runs on a task as the server sorts them, asked for page by page as they are wanted.

        Raises:
            InputError: The list can't be had.
        """
        order = "desc" if descending else "asc"
        for offset in itertools.count(0, self._page):
            name = f"task_{task}_{metric}_{order}_{self._page}_{offset}"
            found = self._once(name, partial(self._asked, task, metric, offset, descending))
            yield from (Evaluation(**one) for one in found)
            if len(found) < self._page:
                return

    def lost(self, candidate: Candidate) -> str | None:
        """Why the server has no predictions of a run; None where it may have them."""
        path = self._path(f"lost_{candidate.name}")
        return str(json.loads(path.read_text())) if path.is_file() else None

    def lose(self, candidate: Candidate, reason: str) -> None:
        """Remember that the server has no predictions of a run."""
        self._write(self._path(f"lost_{candidate.name}"), reason)

    def _asked(self, task: int, metric: str, offset: int, descending: bool) -> list[dict[str, Any]]:
        found = self.archive.evaluations(
            task, metric, offset=offset, limit=self._page, descending=descending
        )
        return [dataclasses.asdict(evaluation) for evaluation in found]

    def _once(self, name: str, ask: Callable[[], Any]) -> Any:
        path = self._path(name)
        if path.is_file():
            return json.loads(path.read_text())
        found = ask()
        self._write(path, found)
        return found

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _write(self, path: Path, content: Any) -> None:
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(content))
