"""What is kept beside a ledger: files that appear whole, before the line that relies on them."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

from runner.errors import CannotRunError


def keep(path: Path, content: Any) -> None:
    """Write plain values, for the owner only; what the file held before is gone.

    Raises:
        CannotRunError: If it can't be written.
    """
    fresh = path.with_suffix(".new")
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(gzip.compress(json.dumps(content).encode(), mtime=0))
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    except OSError as error:
        raise CannotRunError(f"can't be written: {error.strerror}", file=path) from None


def kept(path: Path) -> Any | None:
    """What was kept; None if it isn't there or isn't whole."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return json.load(file)
    except (OSError, EOFError, ValueError):
        return None
