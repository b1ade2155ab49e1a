"""Files that appear whole or not at all, whenever the process that writes them may be killed."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write, which takes the place of another once it is whole and on disk.

    Where the writing fails, what was there stays. A folder that is missing is made. A link stays a
    link: what it leads to is replaced.

    Args:
        path: What is to be replaced; it need not be there.

    Yields:
        The path to write to, in the same folder: to move it from there is one step.

    Raises:
        InputError: Something else than a file is there: a folder, a device or a pipe.
    """
    path = _replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        yield temporary
        _flush(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _flush(path.parent)


def _replaceable(path: Path) -> Path:
    """The file that a path means, which needn't be there."""
    try:
        target = path.resolve()
    except RuntimeError:
        raise InputError("this is a link that leads to itself", file=path) from None
    if target.is_dir():
        raise InputError("this is a folder; name a file", file=path)
    if target.exists() and not target.is_file():
        raise InputError("this is a device or a pipe, which no file can replace", file=path)
    return target


def _flush(path: Path) -> None:
    """Have a file's content, or a folder's names, on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
