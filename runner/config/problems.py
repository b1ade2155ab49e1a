"""What is wrong with a document: collected with its place, told one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from runner.config.document import Document, Location
from runner.errors import InputError, suggestion

_M = TypeVar("_M", bound=BaseModel)

_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "keys and values",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "int_type": "a whole number",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
    "list_type": "a list",
    "model_type": "keys and values",
    "string_type": "text",
}
_EMPTY = {"too_short", "string_too_short"}
_SHOWN = 60


class Problems:
    """Collects what is wrong with a document."""

    def __init__(self, document: Document):
        self._document = document
        self._found: list[tuple[bool, int, str]] = []

    def add(self, location: Location, message: str, *, missing: bool = False) -> None:
        """Note a problem. ``missing`` ones come last: a misspelt key says more than a missing."""
        self._found.append((missing, self._document.line(location), message))

    def raise_first(self) -> None:
        """Raise the first problem in the file, if there is any.

        Raises:
            InputError: With the document's file and the problem's line.
        """
        if self._found:
            _, line, message = min(self._found, key=lambda problem: problem[:2])
            raise InputError(message, file=self._document.path, line=line)

    def validated(
        self, keys: type[_M], content: Mapping[str, Any], location: Location
    ) -> _M | None:
        """The content as a model, or None after its problems are noted."""
        empty = [name for name in _names(keys) if content.get(name, "") is None]
        for name in empty:
            self.add((*location, name), f"key {name!r} has no value; give one or leave it out")
        try:
            found = keys.model_validate(content)
            return None if empty else found
        except ValidationError as error:
            for details in error.errors(include_url=False):
                self._add_details(keys, dict(details), location)
            return None

    def _add_details(
        self, keys: type[BaseModel], details: Mapping[str, Any], location: Location
    ) -> None:
        within: Location = details["loc"]
        label = str(within[-1]) if within else str(location[-1]) if location else "the file"
        place = (*location, *within)
        match details["type"]:
            case "missing":
                self.add(place, f"key {label!r} is missing", missing=True)
            case "extra_forbidden":
                valid = _names(_model_at(keys, within[:-1]))
                self.add(place, f"unknown key {label!r}: {suggestion(label, valid)}")
            case "value_error":
                self.add(place, f"{label} {details['ctx']['error']}")
            case kind if kind in _EMPTY:
                self.add(place, f"{label} is empty; give at least one")
            case kind:
                expected = _EXPECTED.get(kind)
                if expected is None:
                    self.add(place, f"{label}: {details['msg']}")
                else:
                    right = expected.format(**_written(details.get("ctx", {})))
                    self.add(place, f"{label} must be {right}, not {shown(details['input'])}")


def shown(value: object) -> str:
    """A value as a message shows it, in the words of YAML where Python's differ."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "keys and values"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _written(limits: Mapping[str, Any]) -> Mapping[str, Any]:
    """Limits as a person writes them: whole numbers without a point."""
    return {
        name: int(limit) if isinstance(limit, float) and limit.is_integer() else limit
        for name, limit in limits.items()
    }


def _names(keys: type[BaseModel]) -> list[str]:
    """The keys as a file has them."""
    return [found.alias or name for name, found in keys.model_fields.items()]


def _model_at(keys: type[BaseModel], location: Location) -> type[BaseModel]:
    for name in location:
        annotation = keys.model_fields[str(name)].annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            keys = annotation
    return keys


def check_threads(threads: int, cpus: int, problems: Problems) -> None:
    """A fit's threads are within what its sandbox has of cores."""
    if threads > cpus:
        problems.add(
            ("threads",), f"threads must be at most the sandbox's cpus ({cpus}), not {threads}"
        )
