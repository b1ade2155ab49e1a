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
    subprocess.run([sys.executable, "-m", PACKAGE, *modules], check=True)


def _is_compiled(module: str) -> bool:
    found = importlib.util.find_spec(module)
    assert found is not None
    assert found.origin is not None
    source = Path(found.origin)
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    indices = source.parent.glob(f"__pycache__/{source.stem}.*.{version}.nbi")
    return any(index.stat().st_mtime >= source.stat().st_mtime for index in indices)
