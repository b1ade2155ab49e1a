"""``python -m runner.models.kernels [MODULE ...]`` compiles kernels into the cache on disk."""

from __future__ import annotations

import importlib
import pkgutil
import sys

from runner.models import kernels
from runner.models.kernels.cache import mark, stamp


def main() -> None:
    every = (
        f"{kernels.__name__}.{module.name}" for module in pkgutil.iter_modules(kernels.__path__)
    )
    for name in sys.argv[1:] or every:
        if not name.endswith("__main__"):
            before = stamp(name)
            importlib.import_module(name)
            mark(name, before)


if __name__ == "__main__":
    main()
