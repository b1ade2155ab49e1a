"""What a class's scores rest on: the source of its user's own modules, and the libraries used."""

from __future__ import annotations

import ast
import hashlib
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import resolve_name
from pathlib import Path

DIGEST_DIGITS = 16


@dataclass(frozen=True)
class Provenance:
    """What stands for a class's code.

    Attributes:
        digest: Of the source files that nobody's version stands for, and of the class's own.
        distributions: Those of the class's bases and of all that the user's own modules import.
    """

    digest: str
    distributions: tuple[str, ...]


def provenance(found: type, named_by: str) -> Provenance:
    """Follow the import statements of the user's own modules, wherever in a module they stand.

    A module's values wouldn't do: numbers, arrays and ufuncs don't tell where they come from, and
    what a function imports isn't there before it runs. Modules that are named only in a call of
    ``importlib`` are not found.

    Args:
        found: The class.
        named_by: The module that the class was taken from, which may only import it.
    """
    used = {named_by, *(one.__module__ for one in found.__mro__)}
    own: dict[str, Path] = {}
    waiting = {whole for module in used for whole in _with_packages(module)}
    while waiting:
        module = waiting.pop()
        file = None if module in own or not _is_own(module) else _file(module)
        if file is not None:
            own[module] = file
            imported = _imported(module, file)
            used |= imported
            waiting |= imported
    brought = {name for module in used for name in installed().get(_top(module), ())}
    return Provenance(_digest(found.__module__, own), tuple(sorted(brought)))


@cache
def installed() -> Mapping[str, Sequence[str]]:
    """The distributions that bring each package."""
    from importlib.metadata import packages_distributions

    # Our own package isn't found there where it is installed in place.
    return {"runner": ["runner"], **packages_distributions()}


def _digest(module: str, own: Mapping[str, Path]) -> str:
    files: Mapping[str, Path | None] = {module: _file(module), **own}
    digest = hashlib.sha256()
    for name, file in sorted(files.items()):
        content = name.encode() if file is None else file.read_bytes()
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()[:DIGEST_DIGITS]


def _is_own(module: str) -> bool:
    return _top(module) not in sys.stdlib_module_names and _top(module) not in installed()


def _top(module: str) -> str:
    return module.partition(".")[0]


def _with_packages(module: str) -> Iterator[str]:
    """The module and the packages around it, which Python imports with it."""
    while module:
        yield module
        module = module.rpartition(".")[0]


def _file(module: str) -> Path | None:
    """Where a module is, without importing it; None if it has no file or isn't there."""
    if module in sys.modules:
        loaded = getattr(sys.modules[module], "__file__", None)
        return None if loaded is None else Path(loaded)
    places: Sequence[str] | None = None
    spec = None
    for name in reversed(list(_with_packages(module))):
        spec = PathFinder.find_spec(name, places)
        if spec is None:
            return None
        places = spec.submodule_search_locations or []
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _imported(module: str, file: Path) -> set[str]:
    """The modules that a module's import statements name, and perhaps other names of theirs."""
    package = module if file.stem == "__init__" else module.rpartition(".")[0]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        # Compiled, or nothing that could be imported.
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (source := _source(node, package)):
            # A name may be a module of the package, or a value: there is no file for those.
            names.update((source, *(f"{source}.{alias.name}" for alias in node.names)))
    return {whole for name in names for whole in _with_packages(name)}


def _source(node: ast.ImportFrom, package: str) -> str | None:
    """The module that names are imported from; None where it would lie above the package."""
    try:
        return resolve_name("." * node.level + (node.module or ""), package)
    except ImportError:
        return None
