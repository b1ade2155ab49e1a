"""The systems of a study and the configurations that its file chooses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.config.document import Location
from runner.config.problems import Problems, shown
from runner.config.schema import EstimatorKeys, safe_name
from runner.errors import InputError, suggestion
from runner.models import DEFAULT, FAMILIES, Family, OutsideClass, family, wrong_values

_FORMS = (
    "a system is a name, one name with its parameters, such as `C-BDT: {leaves: [8, 32]}`, or "
    "`estimator: package.module:Class` with its `grid`"
)
_OWN = (
    "a class of your own stands once for each choice of its values: for its defaults give its "
    "`estimator` again, with another `name` and no `grid`"
)


@dataclass(frozen=True)
class SystemEntry:
    """A system of a study.

    Attributes:
        family: The model family, one of ours or made of a user's class.
        configurations: Each with its configuration_id, the index in the family's full grid.
    """

    family: Family
    configurations: tuple[tuple[int, Mapping[str, Any]], ...]

    @property
    def name(self) -> str:
        """What the system is called in rows and tables."""
        return self.family.name


def read_systems(contents: Any, problems: Problems, folder: Path) -> tuple[SystemEntry, ...]:
    """The entries of ``systems``, as far as they are right; the rest goes to ``problems``.

    Args:
        contents: What the file says.
        problems: Takes what is wrong with it.
        folder: Where users' modules are looked for besides where Python looks.
    """
    if not isinstance(contents, list):
        return ()
    entries: dict[str, SystemEntry] = {}
    own = _own_names(contents)
    for index, content in enumerate(contents):
        location: Location = ("systems", index)
        if isinstance(content, dict) and "estimator" in content:
            entry = _read_estimator(content, location, problems, folder)
        else:
            entry = _read_system(content, location, problems, own)
        if entry is None:
            continue
        if entry.name in entries:
            right = "give one another `name`" if entry.family.origin else "give it once"
            problems.add(location, f"system {entry.name!r} stands twice; {right}")
        entries[entry.name] = entry
    return tuple(entries.values())


def _own_names(contents: list[Any]) -> frozenset[str]:
    """What a study calls the systems that are users' own classes."""
    entries = [one for one in contents if isinstance(one, dict) and "estimator" in one]
    return frozenset(
        str(one.get("name") or str(one["estimator"]).rpartition(":")[2]) for one in entries
    )


def _read_system(
    content: Any, location: Location, problems: Problems, own: frozenset[str]
) -> SystemEntry | None:
    if isinstance(content, str):
        name, place = content, location
        values: Any = {}
    elif isinstance(content, dict) and len(content) == 1:
        [(name, values)] = content.items()
        place = (*location, name)
    else:
        problems.add(location, f"{_FORMS}, not {shown(content)}")
        return None
    if str(name).removesuffix(DEFAULT) in own - FAMILIES.keys():
        problems.add(place, f"{name!r}: {_OWN}")
        return None
    try:
        found = family(name)
    except InputError as error:
        problems.add(place, error.message)
        return None
    if name.endswith(DEFAULT) and not isinstance(content, str):
        alone = f"{name} is one configuration and takes no parameters: give its name alone"
        problems.add(place, alone)
        return None
    if not _are_parameters(values, found, place, problems):
        return None
    try:
        return SystemEntry(found, tuple(found.configurations(values)))
    except InputError as error:
        problems.add(place, error.message)
        return None


def _read_estimator(
    content: Mapping[str, Any], location: Location, problems: Problems, folder: Path
) -> SystemEntry | None:
    keys = problems.validated(EstimatorKeys, content, location)
    if keys is None:
        return None
    try:
        found = OutsideClass.load(keys.estimator, folder)
    except InputError as error:
        problems.add((*location, "estimator"), error.message)
        return None
    name = keys.name or found.name
    if not _is_free_name(name, (*location, "name"), problems):
        return None
    grid = (*location, "grid")
    right = [_is_grid(found, one, values, grid, problems) for one, values in keys.grid.items()]
    if not all(right):
        return None
    try:
        made = found.family(name=name, grid=keys.grid, linear=keys.linear)
    except InputError as error:
        problems.add((*location, "estimator"), error.message)
        return None
    return SystemEntry(made, made.configurations())


def _is_free_name(name: str, location: Location, problems: Problems) -> bool:
    try:
        safe_name(name)
    except ValueError as error:
        problems.add(location, f"the system's name {error}; give it a `name`")
        return False
    if name in FAMILIES:
        problems.add(location, f"{name!r} is a system that is built in; give yours another `name`")
        return False
    return True


def _is_grid(
    found: OutsideClass,
    name: str,
    values: list[Any],
    location: Location,
    problems: Problems,
) -> bool:
    place = (*location, name)
    if name not in found.parameters:
        hint = suggestion(name, found.parameters)
        problems.add(place, f"{found.name} has no parameter {name!r}: {hint}")
        return False
    return _are_right(found.parameter(name), values, place, problems)


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
    return _are_right(found.parameters[name], values, place, problems)


def _are_right(parameter: Any, values: list[Any], location: Location, problems: Problems) -> bool:
    wrong = list(wrong_values(parameter, values, shown))
    for index, message in wrong:
        problems.add((*location, index), message)
    return not wrong


def _example(found: Family) -> str:
    name, parameter = next(iter(found.parameters.items()))
    return f"`{{{name}: {list(parameter.swept[:2])}}}`"
