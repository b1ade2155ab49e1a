"""``python -m runner.models.kernels [MODULE ...]`` compiles kernels into the cache on disk."""

from __future__ import annotations

import importlib
import sys

from runner.models.kernels.cache import kernel_modules, mark, stamp


def main() -> None:
    for name in sys.argv[1:] or kernel_modules():
        before = stamp(name)
        importlib.import_module(name)
        mark(name, before)


if __name__ == "__main__":
    main()
