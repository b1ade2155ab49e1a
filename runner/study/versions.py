"""Versions of the libraries that results rest on."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version

RECORDED = ("runner", "ray", "numpy", "scikit-learn", "lightgbm")


@cache
def _version(distribution: str) -> str:
    return version(distribution)


def library_versions(distributions: Iterable[str]) -> dict[str, str]:
    """The installed version of each distribution."""
    return {name: _version(name) for name in distributions}


def environment_versions() -> dict[str, str]:
    """Python's, ours and the main libraries' versions, for the ``runs`` table."""
    return {"python": platform.python_version(), **library_versions(RECORDED)}
