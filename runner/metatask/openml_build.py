"""Metatasks from OpenML: the best runs of a task, their predictions, checked and put together.

The network is what takes the time, and the server is to be spared: everything is asked for by
this process, through one `Server` that keeps the pace over all tasks at once. Reading the files,
checking and repairing them is spread over a cluster, a run a call; files travel there, so that
its nodes need no disk in common.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from runner.data.openml_task import read_files
from runner.engine import Callers
from runner.errors import InputError
from runner.metatask import files
from runner.metatask.integrity import Checked
from runner.metatask.metatask import Metatask
from runner.metatask.openml_journal import Journal
from runner.metatask.openml_metatask import (
    Frame,
    Taken,
    candidate_of,
    constraints_of,
    frame_of,
    metatask_of,
)
from runner.metatask.openml_predictions import Question, Unusable, examine_run
from runner.metatask.openml_selection import Candidate, Selection, ranked
from runner.openml import GoneError, NoResultError, RefusedError, UnreachableError

_PATIENCE = 3
"""Runs of a task that may be out of reach before the server is taken to be."""


@dataclass(frozen=True)
class Wish:
    """A metatask to build.

    Attributes:
        task: The number of its task at OpenML.
        runs: Exactly these; None to select them.
    """

    task: int
    runs: tuple[Candidate, ...] | None = None


@dataclass(frozen=True)
class Built:
    """A metatask that was built.

    Attributes:
        task: The number of its task at OpenML.
        path: Its file.
        models: Its runs, in order.
        dropped: By the name of a run that can't serve, why.
        findings: How many models have any.
        corrupted: How many have one that isn't repaired.
        fresh: Whether this build made it; else it was there already.
    """

    task: int
    path: Path
    models: tuple[Candidate, ...]
    dropped: Mapping[str, str] = field(default_factory=dict)
    findings: int = 0
    corrupted: int = 0
    fresh: bool = True


@dataclass(frozen=True)
class Failed:
    """A metatask that can't be built, and why."""

    task: int
    error: InputError


class Watcher(Protocol):
    """Who follows a build; called from several threads, one at a time."""

    def expect(self, runs: int) -> None:
        """So many more runs are to be read."""

    def ready(self) -> None:
        """A run has been read."""

    def message(self, text: str) -> None:
        """Something a person should know."""


def known(wish: Wish, selection: Selection, output: Path) -> Built | None:
    """What an earlier build into the folder made, if it was asked for the same."""
    path = output / files.file_name(str(wish.task))
    if not path.is_file():
        return None
    try:
        metatask = files.read(path)
    except InputError:
        return None
    dropped = metatask.constraints.get("dropped", {})
    models = tuple(candidate_of(model) for model in metatask.models)
    if wish.runs is None:
        same = metatask.constraints == constraints_of(selection, None, dropped)
    else:
        names = [*dropped, *(model.name for model in models)]
        same = sorted(names) == sorted(one.name for one in wish.runs)
    return _built(wish, path, models, metatask, fresh=False) if same else None


class Builder:
    """Builds metatasks.

    Args:
        journal: The server's files, and what earlier builds into the same folder were told.
        selection: How runs are selected.
        output: The folder to write into.
        callers: Who reads the runs' files.
        watcher: Who follows it.
        at_once: Runs to ask for at the same time; the server's own pace bounds it too.
    """

    def __init__(
        self,
        journal: Journal,
        selection: Selection,
        output: Path,
        callers: Callers,
        watcher: Watcher,
        at_once: int = 4,
    ):
        self._archive = journal.archive
        self._selection = selection
        self._output = output
        self._callers = callers
        self._watcher = watcher
        self._at_once = at_once
        self._journal = journal
        self._telling = threading.Lock()
        self._stopped = threading.Event()

    def build(self, wishes: Sequence[Wish]) -> Iterator[Built | Failed]:
        """Build several at once, whether they are :func:`known` or not; the first ready is first.

        Closed early, it lets nothing new begin.
        """
        tasks = ThreadPoolExecutor(self._at_once)
        downloads = ThreadPoolExecutor(self._at_once)
        try:
            pending = {tasks.submit(self._build, wish, downloads): wish for wish in wishes}
            for done in as_completed(pending):
                try:
                    yield done.result()
                except InputError as error:
                    yield Failed(pending[done].task, error)
        finally:
            self._stopped.set()
            tasks.shutdown(wait=False, cancel_futures=True)
            downloads.shutdown(wait=False, cancel_futures=True)

    def _build(self, wish: Wish, downloads: Executor) -> Built:
        task = read_files(self._archive.task(wish.task))
        frame = frame_of(task)
        wanted = self._wanted(wish)
        taken, dropped = self._take(frame, self._candidates(wish), wanted, downloads)
        if not taken:
            raise InputError(self._nothing(wish.task, dropped))
        if len(taken) < wanted:
            text = f"task {wish.task}: {len(taken)} of {wanted} models, as there are no more runs"
            self._tell(self._watcher.message, text)
        chosen = None if wish.runs is None else len(taken)
        metatask = metatask_of(frame, taken, self._selection, chosen, dropped)
        path = self._output / files.file_name(metatask.name)
        files.write(metatask, path)
        return _built(wish, path, tuple(one.candidate for one in taken), metatask, fresh=True)

    def _nothing(self, task: int, dropped: Mapping[str, str]) -> str:
        """Why a task has no model at all."""
        if not dropped:
            metric = self._selection.metric
            return (
                f"OpenML lists no run of task {task} with {metric}: choose another --metric or task"
            )
        name, reason = next(iter(dropped.items()))
        return f"task {task}: none of {len(dropped)} runs can serve, as {name}: {reason}"

    def _wanted(self, wish: Wish) -> int:
        return self._selection.top if wish.runs is None else len(wish.runs)

    def _candidates(self, wish: Wish) -> Iterator[Candidate]:
        if wish.runs is not None:
            return iter(wish.runs)
        choice = self._selection
        listed = self._journal.evaluations(wish.task, choice.metric, descending=choice.maximize)
        return ranked(listed, per_flow=choice.per_flow)

    def _take(
        self, frame: Frame, candidates: Iterator[Candidate], wanted: int, downloads: Executor
    ) -> tuple[list[Taken], dict[str, str]]:
        """The first usable candidates, as many as are wanted, and why others aren't."""
        taken: list[Taken] = []
        dropped: dict[str, str] = {}
        unreachable = 0
        while len(taken) < wanted and (batch := list(islice(candidates, wanted - len(taken)))):
            self._tell(self._watcher.expect, len(batch))
            for candidate, outcome in self._ask(frame, batch, downloads):
                self._tell(self._watcher.ready)
                if isinstance(outcome, Taken):
                    taken.append(outcome)
                    continue
                dropped[candidate.name] = outcome.reason
                unreachable += outcome.unreachable
                if unreachable >= _PATIENCE:
                    raise UnreachableError(f"task {frame.task.number}: {outcome.reason}")
                self._tell(
                    self._watcher.message,
                    f"task {frame.task.number}: {candidate.name} is left out: {outcome.reason}",
                )
        return taken, dropped

    def _ask(
        self, frame: Frame, batch: Iterable[Candidate], downloads: Executor
    ) -> Iterator[tuple[Candidate, Taken | _Dropped]]:
        """The outcome of each candidate, in their order."""
        pending = [(one, downloads.submit(self._fetch, frame, one)) for one in batch]
        try:
            for candidate, fetched in pending:
                yield candidate, self._outcome(candidate, fetched)
        finally:
            for _, fetched in pending:
                fetched.cancel()

    def _fetch(self, frame: Frame, candidate: Candidate) -> _Reading:
        """Have a run's files, and have them read."""
        if self._stopped.is_set():
            raise _StoppedError("the build was stopped")
        lost = self._journal.lost(candidate)
        if lost is not None:
            raise _LostError(lost)
        try:
            run = self._archive.run(candidate.run)
            if (run.task, run.flow) != (frame.task.number, candidate.flow):
                raise _LostError(f"run {run.number} is of task {run.task} and flow {run.flow}")
            content = self._archive.predictions(run).read_bytes()
        except RefusedError as error:
            if error.lasting:
                self._journal.lose(candidate, error.message)
            raise _LostError(error.message) from error
        except (GoneError, NoResultError) as error:
            self._journal.lose(candidate, error.message)
            raise _LostError(error.message) from error
        name = candidate.flow_name or run.flow_name
        question = Question(
            candidate.name, name, content, frame.classes, frame.rows, frame.labels, frame.folds
        )
        complete = dataclasses.replace(
            candidate, flow_name=name, setup=candidate.setup or run.setup
        )
        return _Reading(complete, self._callers.call(examine_run, question))

    def _outcome(self, candidate: Candidate, fetched: Future[_Reading]) -> Taken | _Dropped:
        try:
            reading = fetched.result()
        except UnreachableError as error:
            return _Dropped(error.message, unreachable=True)
        except _StoppedError:
            raise
        except InputError as error:
            return _Dropped(error.message)
        checked = reading.result()
        if isinstance(checked, Unusable):
            return _Dropped(checked.reason)
        return Taken(reading.candidate, checked)

    def _tell(self, say: Callable[..., None], *what: Any) -> None:
        with self._telling:
            say(*what)


class _LostError(InputError):
    """The server has no predictions of a run."""


class _StoppedError(InputError):
    """Nothing more is to be begun."""


@dataclass(frozen=True)
class _Reading:
    candidate: Candidate
    result: Callable[[], Checked | Unusable]


@dataclass(frozen=True)
class _Dropped:
    reason: str
    unreachable: bool = False


def _built(
    wish: Wish, path: Path, models: tuple[Candidate, ...], metatask: Metatask, *, fresh: bool
) -> Built:
    return Built(
        wish.task,
        path,
        models,
        metatask.constraints.get("dropped", {}),
        sum(bool(model.findings) for model in metatask.models),
        sum(model.corrupted for model in metatask.models),
        fresh,
    )
