"""What a work names, loaded: its function, its warm-up, its argument and its arrays."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from runner.sandbox.contract import Work

PAGE = 4096


@dataclass(frozen=True)
class Task:
    """A work whose functions are imported and whose arrays are mapped."""

    function: Callable[..., None]
    argument: Any
    arrays: dict[str, np.ndarray]

    @classmethod
    def load(cls, work: Work) -> Task:
        """Import, unpickle, map and warm up: all that no recorded time should hold.

        Raises:
            Exception: Whatever the imports or the warm-up raise.
        """
        function = named(work.function)
        argument = pickle.loads(work.argument)
        arrays = {} if work.arrays is None else map_arrays(Path(work.arrays))
        if work.warm_up is not None:
            named(work.warm_up)(argument)
        return cls(function, argument, arrays)


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


def map_arrays(folder: Path) -> dict[str, np.ndarray]:
    """Every ``NAME.npy`` in ``folder``, mapped read-only and read once, by name.

    Raises:
        ValueError: A file holds Python objects, which can't be mapped.
        OSError: The folder or a file can't be read.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder of arrays at {folder}")
    arrays = {file.stem: np.load(file, mmap_mode="r") for file in sorted(folder.glob("*.npy"))}
    for array in arrays.values():
        _touch(array)
    return arrays


def _touch(array: np.ndarray) -> None:
    """Fault every page in, so that the first pass over the data isn't charged for it."""
    if array.nbytes:
        array.ravel(order="K").view(np.uint8)[::PAGE].max()
