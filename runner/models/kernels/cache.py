"""Whether kernels' machine code is on disk, told without importing numba."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

PACKAGE = __package__
PACKAGES = (PACKAGE, "runner.ensemble.kernels")
"""All that hold kernels."""

_ROOT = Path(__file__).parents[len(PACKAGE.split("."))]
_OTHERS = ("__init__", "__main__", "cache", "compiled")


def kernel_modules() -> tuple[str, ...]:
    """All modules of kernels, by name."""
    return tuple(
        f"{package}.{file.stem}"
        for package in PACKAGES
        for file in sorted(_ROOT.joinpath(*package.split(".")).glob("*.py"))
        if file.stem not in _OTHERS
    )


def uncompiled(modules: Iterable[str]) -> tuple[str, ...]:
    """Those of ``modules`` that hold kernels and whose source isn't known to be all compiled.

    What is known stands beside the source, where numba writes first; where it writes elsewhere,
    because that folder can't be written, all are named.
    """
    kernels = (module for module in modules if module.rpartition(".")[0] in PACKAGES)
    return tuple(module for module in kernels if _read(module) != stamp(module))


def compile_ahead(modules: Iterable[str]) -> None:
    """Compile kernels into the cache, in a process of its own.

    Raises:
        subprocess.CalledProcessError: It failed; its words are on stderr.
    """
    subprocess.run([sys.executable, "-m", PACKAGE, *modules], check=True)


def stamp(module: str) -> str:
    """What machine code is made from: another stamp, and numba compiles the module again."""
    source = hashlib.sha256(_source(module).read_bytes()).hexdigest()
    return f"numba {version('numba')}, source {source}"


def mark(module: str, stamp: str) -> None:
    """Note that all kernels of a module are on disk, with its stamp from before they were made.

    One file a module: numba's own, one a kernel, don't tell how many are missing.
    """
    with suppress(OSError):
        _marker(module).write_text(stamp)


def _read(module: str) -> str | None:
    try:
        return _marker(module).read_text()
    except OSError:
        return None


def _marker(module: str) -> Path:
    source = _source(module)
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    return source.parent / "__pycache__" / f"{source.stem}.{python}.compiled"


def _source(module: str) -> Path:
    found = importlib.util.find_spec(module)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin)
