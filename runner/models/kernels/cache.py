"""Whether kernels' machine code is on disk, told without importing numba."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

PACKAGE = __package__


def uncompiled(modules: Iterable[str]) -> tuple[str, ...]:
    """Those of ``modules`` that hold kernels and have no machine code newer than their source.

    Looks where numba writes first, beside the source; where it writes elsewhere, because that
    folder can't be written, all are named.
    """
    kernels = (module for module in modules if module.startswith(f"{PACKAGE}."))
    return tuple(module for module in kernels if not _is_compiled(module))


def compile_ahead(modules: Iterable[str]) -> None:
    """Compile kernels into the cache, in a process of its own.

    Raises:
        subprocess.CalledProcessError: It failed; its words are on stderr.
    """
    names = tuple(modules)
    subprocess.run([sys.executable, "-m", PACKAGE, *names], check=True)
    for name in names:
        # Where a source is newer but the same, numba leaves its index as it is.
        for index in _indices(_source(name)):
            index.touch()


def _is_compiled(module: str) -> bool:
    source = _source(module)
    return any(i.stat().st_mtime >= source.stat().st_mtime for i in _indices(source))


def _source(module: str) -> Path:
    found = importlib.util.find_spec(module)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin)


def _indices(source: Path) -> Iterable[Path]:
    """Numba's tables of what it has compiled of a module for this Python."""
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    return source.parent.glob(f"__pycache__/{source.stem}.*.{version}.nbi")
