"""A study of ensembles as its file describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.config.document import Document, Location, line_of, read_document
from runner.config.ensemble_schema import EnsembleKeys, TechniqueKeys
from runner.config.problems import Problems, check_threads, shown
from runner.config.schema import safe_name
from runner.config.study import Sandbox
from runner.errors import InputError, suggestion

_SUFFIXES = (".arrow", ".json", ".csv")
"""Of metatasks."""
_WILD = frozenset("*?[")
_METRICS = {"paper": "hard_auc"}
_FORMS = (
    "a technique is a name, one name with its parameters, such as `ES: {iterations: 50}`, or "
    "`technique: package.module:Class` with its `name` and `parameters`"
)


@dataclass(frozen=True)
class TechniqueEntry:
    """An ensemble technique as a study names it.

    Attributes:
        name: What it is called in rows and tables.
        technique: One that is built in, or a user's ``package.module:Class``.
        parameters: Those that differ from its defaults.
        place: Where in the file it stands.
        parameters_place: Where its parameters do.
    """

    name: str
    technique: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    place: Location = ()
    parameters_place: Location = ()


@dataclass(frozen=True)
class EnsembleStudy:
    """A simulation of ensemble techniques on metatasks.

    Attributes:
        path: The study's file; None where the command line said it all.
        text: The file's text, or one that says the same.
        metatasks: Files, each with where in the study it stands.
        techniques: Empty for those of the paper.
        protocol: ``corrected``, ``paper`` or ``validation``.
        asked_metric: What scores are to be; None for the protocol's own.
        threads: What a fit may use of the sandbox's cores.
        timing: ``packed``: beside other sandboxes on the node, ``exclusive``: alone on it.
        predictions: Whether the store keeps what the ensembles predict.
        lines: Where in the file everything stands.
    """

    name: str
    path: Path | None
    text: str
    metatasks: tuple[tuple[Path, Location], ...]
    techniques: tuple[TechniqueEntry, ...]
    protocol: str
    asked_metric: str | None
    seed: int
    sandbox: Sandbox
    threads: int
    timing: str
    predictions: bool
    lines: Mapping[Location, int] = field(default_factory=dict, repr=False, compare=False)

    @property
    def metric(self) -> str:
        """What scores are: the paper's are AUCs of predicted classes."""
        return self.asked_metric or _METRICS.get(self.protocol, "auc")

    @property
    def folder(self) -> Path:
        """Where users' modules are looked for besides where Python looks."""
        return Path() if self.path is None else self.path.parent

    def problem(self, message: str, place: Location) -> InputError:
        """An error that names file and line of what stands at a place."""
        if self.path is None:
            return InputError(message)
        return InputError(message, file=self.path, line=line_of(self.lines, place))


def load_ensemble_study(path: Path) -> EnsembleStudy:
    """Read and check the file of a study of ensembles; the metatasks aren't opened.

    Whether there are such techniques, protocols and metrics is told by those who have them.

    Raises:
        InputError: With file and line, for the first thing in the file that is wrong.
    """
    document = read_document(path)
    problems = Problems(document)
    if not isinstance(document.content, dict):
        problems.add((), f"a study is keys and values, not {shown(document.content)}")
    problems.raise_first()
    if document.content.get("kind") == "sweep":
        problems.add(("kind",), "this is a sweep: `runner sweep` runs it")
        problems.raise_first()
    keys = problems.validated(EnsembleKeys, document.content, ())
    metatasks = _read_metatasks(document, problems)
    techniques = _read_techniques(document.content.get("techniques"), problems)
    if keys is not None:
        check_threads(keys.threads, keys.sandbox.cpus, problems)
    problems.raise_first()
    assert keys is not None
    return EnsembleStudy(
        name=keys.name,
        path=path,
        text=document.text,
        metatasks=metatasks,
        techniques=techniques,
        protocol=keys.protocol,
        asked_metric=keys.metric,
        seed=keys.seed,
        sandbox=Sandbox(**keys.sandbox.model_dump()),
        threads=keys.threads,
        timing=keys.timing,
        predictions=keys.predictions,
        lines=document.lines,
    )


def ensemble_study(name: str, metatasks: Sequence[Path]) -> EnsembleStudy:
    """A study of the paper's techniques on some metatasks, with everything at its default.

    Raises:
        InputError: The name can't be a file's name everywhere, or there are no such files.
    """
    try:
        safe_name(name)
    except ValueError as error:
        raise InputError(f"the study's name {error}") from None
    found: list[tuple[Path, Location]] = []
    for path in metatasks:
        if not path.exists():
            raise InputError(_missing(path))
        found.append((path, ()))
    keys = EnsembleKeys(kind="ensembles", name=name, metatasks=[str(path) for path in metatasks])
    lines = "".join(f"  - {str(path)!r}\n" for path in metatasks)
    return EnsembleStudy(
        name=name,
        path=None,
        text=f"kind: ensembles\nname: {name}\nmetatasks:\n{lines}",
        metatasks=tuple(found),
        techniques=(),
        protocol=keys.protocol,
        asked_metric=keys.metric,
        seed=keys.seed,
        sandbox=Sandbox(**keys.sandbox.model_dump()),
        threads=keys.threads,
        timing=keys.timing,
        predictions=keys.predictions,
    )


def _read_metatasks(document: Document, problems: Problems) -> tuple[tuple[Path, Location], ...]:
    contents = document.content.get("metatasks")
    if not isinstance(contents, list):
        return ()
    found: dict[Path, Location] = {}
    for index, content in enumerate(contents):
        place: Location = ("metatasks", index)
        if not isinstance(content, str) or not content:
            problems.add(
                place, f"a metatask is given by its file or a pattern, not by {shown(content)}"
            )
            continue
        paths = _files(document.path.parent, content)
        if not paths:
            problems.add(place, _missing(document.path.parent / content))
        for path in paths:
            if path in found and not _WILD & set(content):
                problems.add(place, f"metatask {str(path)!r} stands twice; give it once")
            found.setdefault(path, place)
    return tuple(found.items())


def _files(folder: Path, pattern: str) -> list[Path]:
    if not _WILD & set(pattern):
        path = folder / pattern
        return [path] if path.exists() else []
    whole = Path(pattern)
    if whole.is_absolute():
        return sorted(Path(whole.anchor).glob(str(whole.relative_to(whole.anchor))))
    return sorted(folder.glob(pattern))


def _missing(path: Path) -> str:
    if _WILD & set(path.name):
        return f"no file is like {path}"
    if not path.parent.is_dir():
        return f"there is no file {path}: there is no folder {path.parent}"
    near = sorted(file.name for file in path.parent.iterdir() if file.suffix in _SUFFIXES)
    return f"there is no file {path}" + (f": {suggestion(path.name, near)}" if near else "")


def _read_techniques(contents: Any, problems: Problems) -> tuple[TechniqueEntry, ...]:
    if not isinstance(contents, list):
        return ()
    entries: dict[str, TechniqueEntry] = {}
    for index, content in enumerate(contents):
        place: Location = ("techniques", index)
        entry = _read_technique(content, place, problems)
        if entry is None:
            continue
        if entry.name in entries:
            problems.add(
                place,
                f"technique {entry.name!r} stands twice; give one another name, such as "
                f"`{{technique: {entry.technique}, name: other}}`",
            )
        entries[entry.name] = entry
    return tuple(entries.values())


def _read_technique(content: Any, place: Location, problems: Problems) -> TechniqueEntry | None:
    if isinstance(content, str) and content:
        return _named(content, content, {}, place, (), problems)
    if not isinstance(content, dict):
        problems.add(place, f"{_FORMS}, not {shown(content)}")
        return None
    if "technique" in content or len(content) != 1:
        keys = problems.validated(TechniqueKeys, content, place)
        if keys is None:
            return None
        name = keys.name or keys.technique.rpartition(":")[2]
        return _named(
            name, keys.technique, keys.parameters, place, (*place, "parameters"), problems
        )
    [(name, parameters)] = content.items()
    if not isinstance(parameters, dict):
        problems.add(
            (*place, name),
            f"{name} takes parameters, such as `{{iterations: 50}}`, not {shown(parameters)}; "
            "its name alone has the defaults",
        )
        return None
    return _named(name, name, parameters, place, (*place, name), problems)


def _named(
    name: str,
    technique: str,
    parameters: Mapping[str, Any],
    place: Location,
    parameters_place: Location,
    problems: Problems,
) -> TechniqueEntry | None:
    if ":" in name:
        # A class named alone is called by its own name.
        name = name.rpartition(":")[2]
    try:
        safe_name(name)
    except ValueError as error:
        problems.add(place, f"the technique's name {error}; give it a `name`")
        return None
    return TechniqueEntry(name, technique, parameters, place, parameters_place)
