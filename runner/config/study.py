"""A sweep as its file describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.config.document import (
    Document,
    Location,
    line_of,
    parse_document,
    read_document,
)
from runner.config.problems import Problems, check_threads, shown
from runner.config.schema import (
    BundledTaskKeys,
    FileTaskKeys,
    OpenmlTaskKeys,
    SweepKeys,
    safe_name,
)
from runner.config.systems import SystemEntry, read_systems
from runner.data import BundledSource, FileSource, OpenmlSource, TaskSource
from runner.errors import InputError, suggestion
from runner.models import FAMILIES

_TaskKeys = FileTaskKeys | BundledTaskKeys | OpenmlTaskKeys
_SOURCES: Mapping[str, type[_TaskKeys]] = {
    "file": FileTaskKeys,
    "sklearn": BundledTaskKeys,
    "openml": OpenmlTaskKeys,
}
_FORMS = "`sklearn: NAME`, `file: PATH` or `openml: NUMBER`"


PLATFORMS: Mapping[str, tuple[str, ...]] = {
    "Azure": ("C-AP", "C-BPM", "C-BDT", "C-DF", "C-DJ", "C-NN", "C-SVM", "C-LR"),
    "Amazon": ("A-LR",),
}
"""The paper's platforms, those of a study that names none."""


@dataclass(frozen=True)
class Competition:
    """What a study says of the competition that a task is from.

    Attributes:
        leaderboard: The file of the teams' scores; None where there is none.
        teams: How many took part, where the file lacks some.
        winning: The AUC of the winning code, where it isn't the leaderboard's best.
    """

    leaderboard: Path | None
    teams: int | None
    winning: float | None


@dataclass(frozen=True)
class TaskEntry:
    """A task of a study: what it is called and where it is.

    Attributes:
        competition: None where the study says nothing of one.
        submission: What a submission file calls its two columns, rows and probabilities; None
            where the study doesn't say.
    """

    name: str
    source: TaskSource
    competition: Competition | None = None
    submission: tuple[str, str] | None = None


@dataclass(frozen=True)
class Sandbox:
    """What one evaluation may use.

    Attributes:
        memory: Bytes.
        seconds: Of wall clock.
        cpu_seconds: Of processor time; None for no limit, and likewise below.
        processes: Processes and threads.
        file_size: Bytes of any one file.
    """

    cpus: int
    memory: int
    seconds: float
    cpu_seconds: float | None = None
    processes: int | None = None
    file_size: int | None = None


@dataclass(frozen=True)
class SweepStudy:
    """A sweep.

    Attributes:
        path: The study's file, as it was named.
        text: The file's text.
        tasks: In the file's order.
        systems: In the file's order.
        folds: Of the cross-validation.
        holdout: Share of the rows kept for the test score, where a task brings no test file.
        threads: What a fit may use of the sandbox's cores.
        timing: How the times come about; ``packed``: beside other sandboxes on the node,
            ``exclusive``: alone on it.
        repeats: How often each evaluation is made.
        share_fits: Whether configurations that one fit passes through are read off it.
        predictions: Whether the store keeps the predictions.
        refit: How many configurations of each system, the best ones on a task, are fitted again
            on all its training rows and scored on its test rows; None for all.
        platforms: Sets of systems that somebody offers together, by name.
        lines: Where in the file everything stands; ``line`` reads it.
    """

    name: str
    path: Path
    text: str
    tasks: tuple[TaskEntry, ...]
    systems: tuple[SystemEntry, ...]
    sandbox: Sandbox
    folds: int
    holdout: float
    seed: int
    threads: int
    timing: str
    repeats: int
    share_fits: bool
    predictions: bool
    refit: int | None
    platforms: Mapping[str, tuple[str, ...]]
    lines: Mapping[Location, int] = field(repr=False, compare=False)

    def line(self, *location: str | int) -> int:
        """The line of ``("tasks", 2, "target")``, or of the nearest one around it."""
        return line_of(self.lines, location)


def load_study(path: Path) -> SweepStudy:
    """Read and check a sweep's file; the tasks themselves are not opened.

    Raises:
        InputError: With file and line, for the first thing in the file that is wrong.
    """
    document = read_document(path)
    problems = Problems(document)
    if not isinstance(document.content, dict):
        problems.add((), f"a study is keys and values, not {shown(document.content)}")
    problems.raise_first()
    keys = problems.validated(SweepKeys, document.content, ())
    tasks = _read_tasks(document, problems)
    systems = read_systems(document.content.get("systems"), problems, path.parent)
    if keys is not None and keys.platforms is not None:
        _check_platforms(keys.platforms, [system.name for system in systems], problems)
    if keys is not None:
        check_threads(keys.threads, keys.sandbox.cpus, problems)
    problems.raise_first()
    assert keys is not None
    return SweepStudy(
        name=keys.name,
        path=path,
        text=document.text,
        tasks=tasks,
        systems=systems,
        sandbox=Sandbox(**keys.sandbox.model_dump()),
        folds=keys.folds,
        holdout=keys.holdout,
        seed=keys.seed,
        threads=keys.threads,
        timing=keys.timing,
        repeats=keys.repeats,
        share_fits=keys.share_fits,
        predictions=keys.predictions,
        refit=None if keys.refit == "all" else keys.refit,
        platforms=_platforms(keys),
        lines=document.lines,
    )


def find_task(path: Path, text: str, name: str) -> tuple[TaskEntry, int]:
    """A task of a sweep whose file said so once, and the line it stands on.

    Nothing else of the file is looked at: its systems may be gone.

    Args:
        path: Where the file is or was: the task's files are told from there.
        text: What it said.
        name: The task's.

    Raises:
        InputError: There is no such task, or something is wrong with the tasks.
    """
    document = parse_document(path, text)
    problems = Problems(document)
    if not isinstance(document.content, dict):
        problems.add((), f"a study is keys and values, not {shown(document.content)}")
    problems.raise_first()
    tasks = _read_tasks(document, problems)
    problems.raise_first()
    names = [task.name for task in tasks]
    if name not in names:
        raise InputError(f"there is no task {name!r}: {suggestion(name, names)}", file=path)
    index = names.index(name)
    return tasks[index], document.line(("tasks", index))


def _check_platforms(
    platforms: Mapping[str, Sequence[str]], systems: Sequence[str], problems: Problems
) -> None:
    known = list(dict.fromkeys([*systems, *FAMILIES]))
    for platform, members in platforms.items():
        for index, name in enumerate(members):
            place = ("platforms", platform, index)
            if name not in known:
                problems.add(place, f"no system {name!r} for a platform: {suggestion(name, known)}")
            elif name in members[:index]:
                problems.add(place, f"{platform} has {name!r} twice; give it once")


def _platforms(keys: SweepKeys) -> Mapping[str, tuple[str, ...]]:
    if keys.platforms is None:
        return PLATFORMS
    return {platform: tuple(members) for platform, members in keys.platforms.items()}


def _read_tasks(document: Document, problems: Problems) -> tuple[TaskEntry, ...]:
    contents = document.content.get("tasks")
    if not isinstance(contents, list):
        return ()
    entries: dict[str, TaskEntry] = {}
    for index, content in enumerate(contents):
        location = ("tasks", index)
        entry = _read_task(document, content, location, problems)
        if entry is None:
            continue
        if entry.name in entries:
            problems.add(location, f"two tasks are named {entry.name!r}; give one another `name`")
        entries[entry.name] = entry
    return tuple(entries.values())


def _read_task(
    document: Document, content: Any, location: Location, problems: Problems
) -> TaskEntry | None:
    if not isinstance(content, dict):
        problems.add(location, f"a task is given as {_FORMS}, not as {shown(content)}")
        return None
    given = [source for source in _SOURCES if source in content]
    if len(given) != 1:
        _add_source_problem(content, given, location, problems)
        return None
    content = _with_text(document, content, location)
    keys = problems.validated(_SOURCES[given[0]], content, location)
    if keys is None:
        return None
    folder = document.path.parent
    competition = _read_competition(keys, folder, location, problems)
    if isinstance(keys, BundledTaskKeys):
        source = BundledSource(keys.sklearn, keys.positive)
        return TaskEntry(keys.name or keys.sklearn, source, competition)
    if isinstance(keys, OpenmlTaskKeys):
        # Its data set's name stands in the cache, or nowhere yet.
        task = OpenmlSource(keys.openml, keys.positive)
        return TaskEntry(keys.name or f"openml-{keys.openml}", task, competition)
    name = keys.name or _stem(keys.file)
    try:
        safe_name(name)
    except ValueError as error:
        problems.add((*location, "file"), f"the task's name {error}; give it a `name`")
        return None
    test = None if keys.test is None else folder / keys.test
    file = FileSource(
        folder / keys.file, keys.target, keys.positive, test, tuple(keys.categorical), keys.id
    )
    return TaskEntry(name, file, competition, _submission(keys, location, problems))


def _submission(
    keys: FileTaskKeys, location: Location, problems: Problems
) -> tuple[str, str] | None:
    if keys.submission is None:
        return None
    if keys.test is None:
        problems.add(
            (*location, "submission"),
            "submission names the columns of predictions for a `test` file without labels; give "
            "the `test` too",
        )
    first, second = keys.submission
    return first, second


def _read_competition(
    keys: _TaskKeys, folder: Path, location: Location, problems: Problems
) -> Competition | None:
    if keys.leaderboard is None and keys.teams is not None:
        problems.add(
            (*location, "teams"),
            "teams says how many a leaderboard should have; give the `leaderboard` too",
        )
    if keys.leaderboard is None and keys.winning is None:
        return None
    file = None if keys.leaderboard is None else folder / keys.leaderboard
    return Competition(file, keys.teams, keys.winning)


def _with_text(
    document: Document, content: Mapping[str, Any], location: Location
) -> Mapping[str, Any]:
    """The positive class is text, though ``positive: 1`` and ``positive: true`` don't look it."""
    written = document.scalars.get((*location, "positive"))
    return content if written is None else {**content, "positive": written}


def _add_source_problem(
    content: Mapping[str, Any], given: list[str], location: Location, problems: Problems
) -> None:
    if given:
        problems.add(
            (*location, given[1]),
            f"a task is given by `{given[0]}` or by `{given[1]}`, not by both",
        )
        return
    known = {name for keys in _SOURCES.values() for name in keys.model_fields}
    unknown = [name for name in content if name not in known]
    if unknown:
        problems.add(
            (*location, unknown[0]),
            f"unknown source {unknown[0]!r}: {suggestion(unknown[0], _SOURCES)}",
        )
    else:
        problems.add(location, f"a task needs a source: {_FORMS}")


def _stem(file: str) -> str:
    return Path(Path(file).name.removesuffix(".gz")).stem
