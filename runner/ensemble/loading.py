"""The metatasks of a study, opened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.config import EnsembleStudy
from runner.config.document import Location
from runner.ensemble.names import shortened
from runner.ensemble.protocols import PAPER, VALIDATION, unscorable_folds
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
            protocol learns from or scores on.
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
        for problem in _problems(loaded.metatask, study):
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


def remarks(metatasks: Sequence[Metatask], study: EnsembleStudy) -> Iterator[str]:
    """What a person should know before techniques run: which of them will fail, and why."""
    told = []
    for one in metatasks:
        corrupted = sum(model.corrupted for model in one.models)
        if corrupted:
            told.append(f"{one.name} ({corrupted} of {len(one.models)} models)")
    if told:
        yield (
            "techniques may fail on metatasks with models of corrupted predictions: "
            f"{shortened(told)}; `runner metatask filter` drops such models"
        )
    for one in metatasks:
        folds = unscorable_folds(one, study.protocol, study.seed)
        if folds:
            yield (
                f"metatask {one.name}: {len(folds)} of {len(one.fold_numbers)} folds can't be "
                f"scored, as a part of them has rows of fewer than two classes: "
                f"{shortened(list(map(str, folds)))}"
            )


def _problems(metatask: Metatask, study: EnsembleStudy) -> Iterator[str]:
    protocol = study.protocol
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
        return
    unscorable = unscorable_folds(metatask, protocol, study.seed)
    if unscorable and (protocol == PAPER or unscorable == metatask.fold_numbers):
        # One fold that fails ends the chain of the paper's protocol.
        least = (
            "two rows of each class" if protocol == PAPER else "rows of two classes in each part"
        )
        yield (
            f"fold {unscorable[0]} can't be scored under protocol {protocol!r}, which needs "
            f"{least}; build it with fewer folds"
        )
