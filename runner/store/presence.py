"""Which runs write to a store right now: each holds a lock, which goes with its process."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

FOLDER = ".running"
"""In a store's folder: a locked file for each run."""


@dataclass(frozen=True)
class Running:
    """A run that writes to a store.

    Attributes:
        process: Its process id, on its node.
        since: When it began, UTC.
    """

    process: int
    node: str
    since: str

    def __str__(self) -> str:
        return f"process {self.process} on {self.node}, since {self.since} UTC"


@contextlib.contextmanager
def present(store: str) -> Iterator[tuple[Running, ...]]:
    """The other runs at work when this one begins; it is one of them until the context ends.

    Where a file system takes no locks or no files nobody is seen.

    Args:
        store: The store's folder.
    """
    folder = Path(store, FOLDER)
    mine = folder / uuid.uuid4().hex
    others: tuple[Running, ...] = ()
    lock = -1
    try:
        with contextlib.suppress(OSError):
            folder.mkdir(exist_ok=True)
            others = tuple(_others(folder))
            lock = _lock(mine)
        yield others
    finally:
        if lock >= 0:
            mine.unlink(missing_ok=True)
            os.close(lock)


def _lock(file: Path) -> int:
    # Locked before it has the name by which others find it, who would take it for a dead one's.
    new = file.with_name(f".{file.name}")
    lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        now = f"{datetime.now(UTC):%Y-%m-%d %H:%M}"
        os.write(lock, json.dumps(asdict(Running(os.getpid(), socket.gethostname(), now))).encode())
        new.rename(file)
    except OSError:
        os.close(lock)
        new.unlink(missing_ok=True)
        raise
    return lock


def _others(folder: Path) -> Iterator[Running]:
    for file in sorted(folder.glob("[!.]*")):
        # It may end, or be removed by another run, while it is looked at.
        with contextlib.suppress(OSError, ValueError, TypeError):
            lock = os.open(file, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield Running(**json.loads(file.read_text()))
            else:
                file.unlink()
            finally:
                os.close(lock)
