"""The metatasks of a study, opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.config import EnsembleStudy
from runner.ensemble.protocols import VALIDATION
from runner.errors import InputError
from runner.metatask import Metatask, files, original
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
    for path, place in study.metatasks:
        if _is_second_half(path, study):
            continue
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


def _load(path: Path) -> Loaded:
    if path.suffix in (".csv", ".json"):
        metatask = original.read(path)
        return Loaded(metatask, fingerprint(metatask), None)
    metatask = files.read(path)
    return Loaded(metatask, files.stored_fingerprint(path), path.absolute())


def _is_second_half(path: Path, study: EnsembleStudy) -> bool:
    """Whether a pattern found both files of an original metatask, and this is the latter."""
    table = path.with_suffix(".csv")
    return path.suffix == ".json" and any(table == other for other, _ in study.metatasks)


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
