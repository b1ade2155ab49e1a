"""The systems of a study and the configurations that its file chooses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.config.document import Location
from runner.config.problems import Problems, shown
from runner.errors import InputError, suggestion
from runner.models import Family, family


@dataclass(frozen=True)
class SystemEntry:
    """A system of a study.

    Attributes:
        family: The model family's name.
        configurations: Each with its configuration_id, the index in the family's full grid.
    """

    family: str
    configurations: tuple[tuple[int, Mapping[str, Any]], ...]


def read_systems(contents: Any, problems: Problems) -> tuple[SystemEntry, ...]:
    """The entries of ``systems``, as far as they are right; the rest goes to ``problems``."""
    if not isinstance(contents, list):
        return ()
    entries: dict[str, SystemEntry] = {}
    for index, content in enumerate(contents):
        location: Location = ("systems", index)
        entry = _read_system(content, location, problems)
        if entry is None:
            continue
        if entry.family in entries:
            problems.add(location, f"system {entry.family!r} stands twice; give it once")
        entries[entry.family] = entry
    return tuple(entries.values())


def _read_system(content: Any, location: Location, problems: Problems) -> SystemEntry | None:
    if isinstance(content, str):
        name, place = content, location
        values: Any = {}
    elif isinstance(content, dict) and len(content) == 1:
        [(name, values)] = content.items()
        place = (*location, name)
    else:
        problems.add(
            location,
            "a system is a name, or one name with its parameters, such as "
            f"`C-BDT: {{leaves: [8, 32]}}`, not {shown(content)}",
        )
        return None
    try:
        found = family(name)
    except InputError as error:
        problems.add(place, error.message)
        return None
    if not _are_parameters(values, found, place, problems):
        return None
    try:
        return SystemEntry(found.name, tuple(found.configurations(values)))
    except InputError as error:
        problems.add(place, error.message)
        return None


def _are_parameters(values: Any, found: Family, location: Location, problems: Problems) -> bool:
    if not isinstance(values, dict):
        problems.add(
            location,
            f"{found.name} takes parameters, such as {_example(found)}, not {shown(values)}; "
            "its name alone is its whole grid",
        )
        return False
    right = [_is_sweep(found, name, values[name], location, problems) for name in values]
    return all(right)


def _is_sweep(
    found: Family, name: str, values: Any, location: Location, problems: Problems
) -> bool:
    place = (*location, name)
    if name not in found.parameters:
        problems.add(
            place,
            f"{found.name} has no parameter {name!r}: {suggestion(name, found.parameters)}",
        )
        return False
    if not isinstance(values, list):
        problems.add(place, f"{name} must be a list of values, not {shown(values)}")
        return False
    if not values:
        problems.add(place, f"{name} has no values; give at least one, or leave it out")
        return False
    parameter = found.parameters[name]
    ok = True
    for index, value in enumerate(values):
        expected = parameter.problem(value)
        if expected is None and parameter.convert(value) in values[:index]:
            problems.add((*place, index), f"{name} has {shown(value)} twice; give it once")
            ok = False
        elif expected is not None:
            problems.add((*place, index), f"{name} must be {expected}, not {shown(value)}")
            ok = False
    return ok


def _example(found: Family) -> str:
    name, parameter = next(iter(found.parameters.items()))
    return f"`{{{name}: {list(parameter.swept[:2])}}}`"
