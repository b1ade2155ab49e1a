"""Metatasks on disk, whatever their format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from runner.errors import InputError
from runner.metatask import files, original, original_document, original_writing
from runner.metatask.metatask import Metatask

Format = Literal["arrow", "original", "original-paper"]
"""The own format, and the original's CSV and JSON files of its later package and of its paper."""


def find(paths: Sequence[Path]) -> list[Path]:
    """The metatasks' files that some paths name, in their order.

    Of a folder all that it holds: files of the own format, and the original's by their JSON file.
    A metatask that lies there in both formats is taken once, in the own one.

    Raises:
        InputError: A path doesn't exist, or a folder holds no metatask.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found |= dict.fromkeys(_in_folder(path))
        elif path.exists():
            found[_named(path)] = None
        else:
            raise InputError("there is no such file or folder", file=path)
    return list(found)


def load(path: Path) -> Metatask:
    """A metatask of either format.

    Raises:
        InputError: The file can't be read as one.
    """
    if not path.is_file():
        raise InputError("there is no such file", file=path)
    return original.read(path) if _is_original(path) else files.read(path)


def verify(path: Path) -> Metatask:
    """As ``load``, but the content is compared with the fingerprint where the file has one."""
    if path.is_file() and _is_original(path):
        return original.read(path)
    return files.verify(path)


def name_of(path: Path) -> str:
    """The name of a metatask of either format, whose arrays aren't read for it.

    Raises:
        InputError: The file can't be read as one.
    """
    if _is_original(path):
        document = original_document.read_document(original.pair(path)[1])
        return str(document["openml_task_id"])
    return files.stored_name(path)


def check_targets(
    named: Iterable[tuple[str | Path, str]], folder: Path, form: Format = "arrow"
) -> None:
    """Refuse metatasks of which one would replace another where ``save`` writes them.

    Args:
        named: How to call each one in a message, and the metatask's name.
        folder: Where they are to be written.
        form: In which format.

    Raises:
        InputError: Two of them would become one file, or a file there is a metatask of another
            name; or the format can't call a file so.
    """
    targets: dict[Path, str | Path] = {}
    for shown, name in named:
        target = folder / _file_name(name, form)
        if target in targets:
            raise InputError(
                f"{targets[target]} and {shown} would both become {target}: write them into "
                "different folders"
            )
        targets[target] = shown
        there = _name_there(target)
        if there not in (None, name):
            raise InputError(
                f"{shown} would replace {target}, which is the metatask {there!r}: name another "
                "folder"
            )


def _name_there(path: Path) -> str | None:
    """The name of the metatask in a file; None where there is none that can be read."""
    try:
        return name_of(path)
    except InputError:
        return None


def save(metatask: Metatask, folder: Path, form: Format = "arrow") -> Path:
    """Write a metatask into a folder, under its name, and return the file's path."""
    path = path_of(metatask, folder, form)
    if form == "arrow":
        files.write(metatask, path)
    else:
        original_writing.write(metatask, path, "paper" if form == "original-paper" else "main")
    return path


def path_of(metatask: Metatask, folder: Path, form: Format = "arrow") -> Path:
    """Where ``save`` writes a metatask; of the original's two files the JSON one."""
    return folder / _file_name(metatask.name, form)


def _file_name(name: str, form: Format) -> str:
    return files.file_name(name) if form == "arrow" else original_writing.file_name(name)


def paths_on_disk(path: Path) -> tuple[Path, ...]:
    """All files that make up the metatask that a path names."""
    return original.pair(path) if _is_original(path) else (path,)


def _in_folder(folder: Path) -> list[Path]:
    own = {path.stem: path for path in folder.glob("metatask_*.arrow")}
    pairs = {path.stem: path for path in folder.glob("metatask_*.json")}
    found = pairs | own
    if not found:
        raise InputError(
            "holds no metatask: its files are called metatask_*.arrow, or metatask_*.csv with "
            "metatask_*.json",
            file=folder,
        )
    return [found[stem] for stem in sorted(found, key=_order)]


def _order(stem: str) -> tuple[int, int, str]:
    """By OpenML's number where the name is one."""
    name = stem.removeprefix("metatask_")
    number = int(name) if name.removeprefix("-").isdecimal() else None
    return (1, 0, name) if number is None else (0, number, name)


def _named(path: Path) -> Path:
    return original.pair(path)[1] if _is_original(path) else path


def _is_original(path: Path) -> bool:
    return path.suffix in (".csv", ".json")
