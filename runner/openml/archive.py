"""The server's files, in the openml package's cache: each asked for once, then read from there."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from xml.etree import ElementTree

from runner.errors import InputError
from runner.openml import records
from runner.openml.records import DatasetRecord, Evaluation, RunRecord, TaskRecord
from runner.openml.server import POLITE, GoneError, NoResultError, Pace, Server, UnreachableError
from runner.replacing import replacing

_R = TypeVar("_R")


@dataclass(frozen=True)
class TaskFiles:
    """A task, its data set, and where their files are.

    Attributes:
        data: An ARFF or a parquet file.
        splits: An ARFF file; None for a task without folds.
    """

    task: TaskRecord
    dataset: DatasetRecord
    data: Path
    splits: Path | None


class Archive:
    """What is on the server, through the cache.

    The cache is laid out as the openml package lays out its own, which finds there what was
    fetched here and the other way round; run predictions, which it doesn't cache, are beside its
    description of the run. Files appear whole or not at all, and where several processes want
    the same one, one of them fetches it.

    Args:
        folder: The cache, of this one server.
        server: Whom to ask for what it lacks; None for nobody.
    """

    def __init__(self, folder: Path, server: Server | None):
        self.folder = folder
        self._given = server

    @classmethod
    def configured(cls, pace: Pace = POLITE) -> Archive:
        """With the server and the cache that the openml package is configured for.

        The environment's OPENML_SERVER and OPENML_APIKEY come before its configuration's file.
        """
        import openml

        config = openml.config
        config.server = os.environ.get("OPENML_SERVER") or config.server
        config.apikey = os.environ.get("OPENML_APIKEY") or config.apikey
        server = Server(config.server, config.apikey, pace, config.connection_n_retries)
        return cls(Path(config.get_cache_directory()), server)

    def task(self, number: int) -> TaskFiles:
        """A task with all of its files.

        Raises:
            InputError: There is no such task, or what the cache lacks of it can't be had.
        """
        with self._told(f"task {number}", number):
            task = self._record(f"tasks/{number}/task.xml", f"task/{number}", records.task_record)
            dataset = self._record(
                f"datasets/{task.dataset}/description.xml",
                f"data/{task.dataset}",
                records.dataset_record,
            )
            splits = None
            if task.splits_url:
                splits = self._text(f"tasks/{number}/datasplits.arff", task.splits_url)
            return TaskFiles(task, dataset, self._data(dataset), splits)

    def has_task(self, number: int) -> bool:
        """Whether all of a task's files are in the cache."""
        try:
            Archive(self.folder, None).task(number)
            return True
        except InputError:
            return False

    def run(self, number: int) -> RunRecord:
        """A run's description.

        Raises:
            InputError: There is no such run, or it can't be had.
        """
        return self._record(f"runs/{number}/description.xml", f"run/{number}", records.run_record)

    def predictions(self, run: RunRecord) -> Path:
        """The ARFF file of a run's predictions.

        Raises:
            GoneError: The run has none, or they aren't there any more.
            UnreachableError: They can't be had.
        """
        if run.predictions_url is None:
            raise GoneError(f"run {run.number} has no predictions")
        return self._text(f"runs/{run.number}/predictions.arff", run.predictions_url)

    def evaluations(
        self, task: int, metric: str, *, offset: int, limit: int, descending: bool
    ) -> tuple[Evaluation, ...]:
        """A page of the runs on a task, sorted by what they scored; never from the cache.

        Returns:
            No more than ``limit``, best first as the server sorts; none past the last page.

        Raises:
            InputError: The list can't be had.
        """
        order = "desc" if descending else "asc"
        path = (
            f"evaluation/list/function/{metric}/limit/{limit}/offset/{offset}/task/{task}"
            f"/sort_order/{order}"
        )
        try:
            return tuple(records.evaluations(ElementTree.fromstring(self._server.call(path))))
        except NoResultError:
            return ()

    def suite(self, number: str) -> tuple[int, ...]:
        """The tasks of a suite, given by its number or its alias; never from the cache.

        Raises:
            InputError: There is no such suite, or it can't be had.
        """
        return records.suite_tasks(ElementTree.fromstring(self._server.call(f"study/{number}")))

    @property
    def _server(self) -> Server:
        if self._given is None:
            raise UnreachableError("nobody is asked")
        return self._given

    def _data(self, dataset: DatasetRecord) -> Path:
        """The data set's file: what the cache has, else ARFF, which alone has a checksum."""
        folder = f"datasets/{dataset.number}"
        parquet = self.folder / folder / f"dataset_{dataset.number}.pq"
        for known in (
            self.folder / folder / "dataset.arff",
            parquet,
            parquet.parent / "dataset.pq",
        ):
            if known.is_file():
                return known
        try:
            return self._text(f"{folder}/dataset.arff", dataset.url, dataset.md5)
        except GoneError:
            if dataset.parquet_url is None:
                raise
        return self._fill(parquet, lambda: self._server.content(dataset.parquet_url or ""))

    def _record(self, place: str, call: str, read: Callable[[ElementTree.Element], _R]) -> _R:
        """A description, asked for again where the cache holds half of one."""
        path = self.folder / place

        def fetch() -> bytes:
            answer = self._server.call(call)
            # What can't be understood isn't kept: the server may say something better tomorrow.
            read(ElementTree.fromstring(answer))
            return answer

        if path.is_file():
            try:
                return read(ElementTree.fromstring(path.read_bytes().rstrip(b"\0")))
            except (ElementTree.ParseError, InputError):
                path.unlink()
        return read(ElementTree.fromstring(self._fill(path, fetch).read_bytes()))

    def _text(self, place: str, url: str, md5: str | None = None) -> Path:
        return self._fill(self.folder / place, lambda: self._server.text(url, md5).encode("utf-8"))

    def _fill(self, path: Path, fetch: Callable[[], bytes]) -> Path:
        """The file, fetched unless somebody has it already."""
        if path.is_file():
            return path
        with self._alone(path.parent):
            if not path.is_file():
                content = fetch()
                with replacing(path) as temporary:
                    temporary.write_bytes(content)
        return path

    @contextmanager
    def _alone(self, folder: Path) -> Iterator[None]:
        """Within it no other process, and no other thread, fills this folder of the cache."""
        locks = self.folder / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        name = "-".join(folder.relative_to(self.folder).parts)
        with (locks / f"runner-{name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @contextmanager
    def _told(self, what: str, number: int) -> Iterator[None]:
        """An unreachable server's error says what isn't in the cache and how it gets there."""
        try:
            yield
        except UnreachableError as error:
            raise UnreachableError(
                f"OpenML's {what} isn't in the cache {self.folder}, and {error.message}; "
                f"`runner data fetch --openml-task {number}` fills the cache where there is a "
                "network"
            ) from error
        except NoResultError as error:
            raise NoResultError(f"OpenML has no {what}: {error.message}") from error
