"""What a work names, loaded: its function, its warm-up, its argument and its arrays."""

from __future__ import annotations

import hashlib
import importlib
import math
import os
import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

# NumPy imports its generators at their first use, which would be in every child.
import numpy.random

from runner.sandbox import kernel
from runner.sandbox.contract import Outcome, Work
from runner.sandbox.ledger import End

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
PAGE = 4096
ERROR_CHARACTERS = 2000


@dataclass(frozen=True)
class Task:
    """A work whose functions are imported and whose arrays are mapped."""

    function: Callable[..., None]
    argument: Any
    arrays: dict[str, np.ndarray]

    @classmethod
    def load(
        cls, work: Work, arrays: dict[str, np.ndarray], warming: Callable[[], None] | None = None
    ) -> Task:
        """Import, unpickle, read and warm up: all that no recorded time should hold.

        Global random generators get a state of this work's own, the same whenever it runs.

        Args:
            work: What to load.
            arrays: Its arrays, mapped.
            warming: Called when the warm-up begins.

        Raises:
            Exception: Whatever the imports or the warm-up raise.
        """
        function = named(work.function)
        argument = pickle.loads(work.argument)
        for array in arrays.values():
            _touch(array)
        if work.warm_up is not None:
            warm_up = named(work.warm_up)
            if warming is not None:
                warming()
            warm_up(argument)
        _seed(work)
        return cls(function, argument, arrays)


def failure(error: BaseException) -> End:
    """The end that an exception of the code under test makes, its text in one line.

    A MemoryError is one of memory: only a request that can't be met raises it.
    """
    outcome: Outcome = "memory" if isinstance(error, MemoryError) else "error"
    return End(outcome, told(type(error).__name__), told(str(error)))


def told(text: str) -> str:
    """A text of the code under test as a row can hold it: one line, not too long, valid UTF-8.

    Halves of surrogate pairs stand in texts for bytes of a file name that aren't UTF-8.
    """
    line = " ".join(text.split())[:ERROR_CHARACTERS]
    return line.encode("utf-8", "backslashreplace").decode()


def named(name: str) -> Callable[..., Any]:
    """The function that ``package.module:name`` names.

    Raises:
        ValueError: The name has another form.
        ImportError, AttributeError: There is no such module or function.
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        raise ValueError(f"{name!r} should be package.module:name")
    function = getattr(importlib.import_module(module), attribute)
    assert callable(function)
    return function  # type: ignore[no-any-return]


def array_files(folder: Path) -> dict[str, Path]:
    """Every ``NAME.npy`` in ``folder``, by name.

    Raises:
        FileNotFoundError: There is no such folder.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder of arrays at {folder}")
    return {file.stem: file for file in sorted(folder.glob("*.npy"))}


def map_array(descriptor: int) -> np.ndarray:
    """The array of an open ``.npy`` file, mapped read-only; the file can be closed afterwards.

    No descriptor stays open through which the file could be opened again for writing.

    Raises:
        ValueError: It isn't such a file, or holds Python objects, which can't be mapped.
    """
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        read_header = _HEADERS.get(np.lib.format.read_magic(file))
        if read_header is None:
            raise ValueError("an array file of an unknown version")
        shape, by_columns, dtype = read_header(file)
        if dtype.hasobject:
            raise ValueError("an array file that holds Python objects")
        start = file.tell()
    content = kernel.map_file(descriptor)
    count = math.prod(shape)
    flat = np.frombuffer(content, dtype, count, start) if count else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if by_columns else "C")


def _seed(work: Work) -> None:
    digest = hashlib.sha256(work.function.encode() + b"\0" + work.argument).digest()
    random.seed(digest)
    numpy.random.seed(int.from_bytes(digest[:4], "big"))


def _touch(array: np.ndarray) -> None:
    """Fault every page in, so that the first pass over the data isn't charged for it."""
    if array.nbytes:
        array.ravel(order="K").view(np.uint8)[::PAGE].max()
