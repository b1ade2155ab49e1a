"""A YAML file as plain values, with the line on which each stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import ComposerError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from runner.errors import InputError, suggestion

Location = tuple[str | int, ...]
"""Keys and list indices from the top down to a value."""

MOST_BYTES = 16 << 20
_PREFIX = "tag:yaml.org,2002:"


@dataclass(frozen=True)
class Document:
    """What a YAML file holds.

    Attributes:
        text: The file as it is.
        content: Mappings, lists and scalars; every key is text.
        lines: For each location the line (from 1) of its key or list item.
        scalars: For each location of a scalar its text, before it became a number or a boolean.
    """

    path: Path
    text: str
    content: Any
    lines: Mapping[Location, int]
    scalars: Mapping[Location, str]

    def line(self, location: Location) -> int:
        """The line of a location, or of the nearest one around it that the file has."""
        return line_of(self.lines, location)


def line_of(lines: Mapping[Location, int], location: Location) -> int:
    """The line of a location, or of the nearest one around it that has one."""
    while location and location not in lines:
        location = location[:-1]
    return lines.get(location, 1)


def read_document(path: Path, what: str = "a study") -> Document:
    """Read a file in YAML 1.2.

    Args:
        what: What the file should be, for messages.

    Raises:
        InputError: If it can't be read, isn't YAML, is empty, or gives a key twice.
    """
    return parse_document(path, _read(path, what), what)


def parse_document(path: Path, text: str, what: str = "a study") -> Document:
    """As ``read_document``, of a text that is known: what a file held, say.

    Args:
        path: Where it stood, for messages.
    """
    root = _composed(path, text)
    if root is None:
        raise InputError(f"the file is empty; {what}'s keys are expected", file=path, line=1)
    builder = _Builder(path)
    try:
        content = builder.build(root, ())
    except RecursionError:
        raise InputError("values are nested without end", file=path, line=1) from None
    return Document(path, text, content, builder.lines, builder.scalars)


def _read(path: Path, what: str) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise InputError(f"is larger than {MOST_BYTES >> 20} MiB: not {what}", file=path)
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        folder = path.parent
        near = sorted(p.name for p in folder.glob("*.y*ml")) if folder.is_dir() else []
        hint = f"there is no such file: {suggestion(path.name, near)}" if near else "no such file"
        raise InputError(hint, file=path) from None
    except IsADirectoryError:
        raise InputError(f"is a folder; {what} is a YAML file", file=path) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError("is not UTF-8 text", file=path, line=line) from None
    except OSError as error:
        raise InputError(f"can't be read: {error.strerror}", file=path) from None


def _composed(path: Path, text: str) -> Node | None:
    try:
        root: Node | None = YAML(typ="safe", pure=True).compose(text)
    except ComposerError as error:
        line = None if error.problem_mark is None else error.problem_mark.line + 1
        if error.context != "expected a single document in the stream":
            what = _one_line(error.problem or error.context or "it can't be parsed")
            raise InputError(f"is not valid YAML: {what}", file=path, line=line) from None
        raise InputError(
            "a second document begins here; a file holds one: leave out the `---`, or write two "
            "files",
            file=path,
            line=line,
        ) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = error.problem or error.context or "it can't be parsed"
        line = None if mark is None else mark.line + 1
        raise InputError(f"is not valid YAML: {_one_line(what)}", file=path, line=line) from None
    except ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise InputError(f"is not valid YAML: {error.reason}", file=path, line=line) from None
    except (YAMLError, RecursionError) as error:
        raise InputError(f"is not valid YAML: {_one_line(str(error))}", file=path) from None
    return root


MOST_VALUES = 100_000


@dataclass
class _Builder:
    """Turns nodes into plain values and remembers where each stands."""

    path: Path
    lines: dict[Location, int] = field(default_factory=dict)
    scalars: dict[Location, str] = field(default_factory=dict)

    def build(self, node: Node, location: Location) -> Any:
        if len(self.lines) > MOST_VALUES:
            # A few lines of aliases can stand for billions of values.
            raise InputError(
                f"has more than {MOST_VALUES:,} values, aliases counted each time",
                file=self.path,
                line=_line(node),
            )
        self.lines.setdefault(location, _line(node))
        if isinstance(node, MappingNode):
            return self._mapping(node, location)
        if isinstance(node, SequenceNode):
            return [self.build(item, (*location, i)) for i, item in enumerate(node.value)]
        assert isinstance(node, ScalarNode)
        return self._scalar(node, location)

    def _mapping(self, node: MappingNode, location: Location) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = _line(key_node)
            if not isinstance(key_node, ScalarNode):
                raise InputError("a key must be text", file=self.path, line=line)
            key = str(key_node.value)
            here = (*location, key)
            if key in content:
                first = self.lines[here]
                raise InputError(
                    f"key {key!r} stands twice, first on line {first}; give it once",
                    file=self.path,
                    line=line,
                )
            self.lines[here] = line
            content[key] = self.build(value_node, here)
        return content

    def _scalar(self, node: ScalarNode, location: Location) -> Any:
        text = str(node.value)
        kind = str(node.tag).removeprefix(_PREFIX)
        try:
            value = _plain(kind, text)
        except ValueError:
            raise InputError(
                f"{text!r} can't be read as {kind}",
                file=self.path,
                line=_line(node),
            ) from None
        if value is not None:
            self.scalars[location] = text
        return value


def _plain(kind: str, text: str) -> str | int | float | bool | None:
    match kind:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            digits = text.replace("_", "")
            return int(digits, 0 if digits.lstrip("+-")[:2].lower() in ("0x", "0o", "0b") else 10)
        case "float":
            return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))
        case _:
            return text


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _one_line(text: str) -> str:
    return " ".join(text.split())
