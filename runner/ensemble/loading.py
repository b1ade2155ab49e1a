"""The metatasks of a study, opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.config import EnsembleStudy
from runner.config.document import Location
from runner.ensemble.protocols import VALIDATION
from runner.errors import InputError
from runner.metatask import Metatask, files, formats
from runner.metatask.fingerprint import fingerprint


@dataclass(frozen=True)
class Loaded:
    """A metatask of a study.

    Attributes:
        fingerprint: Of its content.
        file: Where it can be mapped; None for one of the original's format.
    """

    metatask: Metatask
    fingerprint: str
    file: Path | None


def load_metatasks(study: EnsembleStudy) -> tuple[Loaded, ...]:
    """The study's metatasks, in its order; those of the own format are mapped, not read.

    Raises:
        InputError: A file is no metatask, two are the same or of one name, or one lacks what the
            protocol learns from.
    """
    found: list[Loaded] = []
    by_name: dict[str, Path] = {}
    by_content: dict[str, Path] = {}
    for path, place in _files(study).items():
        loaded = _load(path)
        twin = by_content.setdefault(loaded.fingerprint, path)
        if twin != path:
            raise study.problem(f"{twin} and {path} are the same metatask; leave one out", place)
        name = loaded.metatask.name
        twin = by_name.setdefault(name, path)
        if twin != path:
            raise study.problem(f"{twin} and {path} are both named {name!r}; leave one out", place)
        for problem in _problems(loaded.metatask, study.protocol):
            raise InputError(problem, file=path)
        found.append(loaded)
    return tuple(found)


def _files(study: EnsembleStudy) -> dict[Path, Location]:
    """The metatasks' files, each once, with where the study names them."""
    found: dict[Path, Location] = {}
    for path, place in study.metatasks:
        for file in formats.find([path]):
            found.setdefault(file, place)
    return found


def _load(path: Path) -> Loaded:
    if files.is_own(path):
        return Loaded(files.read(path), files.stored_fingerprint(path), path.absolute())
    metatask = formats.load(path)
    return Loaded(metatask, fingerprint(metatask), None)


def _problems(metatask: Metatask, protocol: str) -> Iterator[str]:
    if not metatask.models:
        yield "is a metatask without models: there is nothing to make an ensemble of"
    if not metatask.fold_numbers:
        yield "is a metatask without folds: no row is tested"
    missing = [fold for fold in metatask.fold_numbers if fold not in metatask.validation]
    if protocol == VALIDATION and missing:
        what = f"of fold {missing[0]}" if metatask.validation else "at all"
        yield (
            f"has no validation predictions {what}, which protocol 'validation' fits techniques "
            "on; 'corrected' fits them on one half of each fold's tested rows"
        )
