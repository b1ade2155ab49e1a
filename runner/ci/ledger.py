"""The ledger of one test set: JSON lines, only ever appended to, each bound to the one before.

A line is on the disk before anything is done upon it. What a kill can leave behind is a last line
without its end, which nobody was told of and which the next writer takes off. The file ``.head``
beside it holds the last line's hash, so that lines taken off the end are missed; it is written
after the line and may be one behind. This finds mistakes and clumsy hands: who can write both files
can make up both, so they belong where developers can't write.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runner.errors import CannotRunError, InputError

SUFFIX = ".jsonl"
_START = "0" * 64


@dataclass(frozen=True)
class Record:
    """One line.

    Attributes:
        index: From 0.
        time: UTC, ISO 8601.
        fields: What it says, by its kind.
    """

    index: int
    kind: str
    time: str
    fields: Mapping[str, Any]
    hash: str


class Ledger:
    """A ledger whose lock is held: what it says, and the way to add to it."""

    def __init__(self, path: Path, descriptor: int, records: list[Record]):
        self.path = path
        self._descriptor = descriptor
        self._records = records

    @property
    def records(self) -> tuple[Record, ...]:
        """All lines, the oldest first."""
        return tuple(self._records)

    def append(self, kind: str, **fields: Any) -> Record:
        """Add a line. When this returns it will outlast a crash.

        Raises:
            CannotRunError: If it can't be written; whether the line is there is then said.
        """
        previous = self._records[-1].hash if self._records else _START
        index = len(self._records)
        time = datetime.now(UTC).isoformat(timespec="microseconds")
        body = {
            "index": index,
            "kind": kind,
            "time": time,
            "fields": fields,
            "previous": previous,
        }
        digest = _hash(body)
        line = json.dumps({**body, "hash": digest}).encode("ascii") + b"\n"
        try:
            if self._records:
                # One behind after a kill; two behind would be taken for lines cut off.
                _write_head(self.path, self._records[-1])
            _write_whole(self._descriptor, line)
        except OSError as error:
            raise _unwritten(self.path, error, "nothing is recorded") from None
        record = Record(index, kind, time, fields, digest)
        self._records.append(record)
        try:
            _write_head(self.path, record)
        except OSError as error:
            again = "what was asked for is recorded; once there is room, ask again to be told"
            raise _unwritten(_head_path(self.path), error, again) from None
        return record


def _unwritten(path: Path, error: OSError, so: str) -> CannotRunError:
    reason = error.strerror or str(error)
    return CannotRunError(f"the ledger can't be written: {reason}; {so}", file=path)


@contextmanager
def locked(path: Path) -> Iterator[Ledger]:
    """The ledger at a path, made if need be, which nobody else can read or write meanwhile.

    Raises:
        CannotRunError: If it was tampered with.
        InputError: If it can't be opened.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = _opened_alone(path)
    except OSError as error:
        raise InputError(f"the ledger can't be opened: {error.strerror}", file=path) from None
    try:
        content = _read_whole(descriptor)
        whole = content[: content.rfind(b"\n") + 1]
        records = _verified(path, whole)
        if len(whole) < len(content):
            os.ftruncate(descriptor, len(whole))
        try:
            yield Ledger(path, descriptor, records)
        finally:
            if os.fstat(descriptor).st_size == 0:
                # Nothing came of it, so nothing is left of it.
                path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _opened_alone(path: Path) -> int:
    """A descriptor of the file, locked; the lock ends with the process, however that ends."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Who held it before may have taken the file away.
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)


def read(path: Path) -> tuple[Record, ...]:
    """What a ledger says, without adding to it; nothing where there is none.

    Raises:
        CannotRunError: If it was tampered with.
        InputError: If it can't be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return tuple(_verified(path, b""))
    except OSError as error:
        raise InputError(f"the ledger can't be read: {error.strerror}", file=path) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        try:
            content = _read_whole(descriptor)
        except OSError as error:
            raise InputError(f"the ledger can't be read: {error.strerror}", file=path) from None
        return tuple(_verified(path, content[: content.rfind(b"\n") + 1]))
    finally:
        os.close(descriptor)


def _read_whole(descriptor: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        return file.read()


def _verified(path: Path, content: bytes) -> list[Record]:
    records: list[Record] = []
    previous = _START
    for number, line in enumerate(content.splitlines(), start=1):
        record = _parsed(line, len(records), previous)
        if record is None:
            raise CannotRunError(
                "the ledger was tampered with: this line isn't what was written after the one "
                "before; put the file back as it was",
                file=path,
                line=number,
            )
        records.append(record)
        previous = record.hash
    _check_head(path, records)
    return records


def _parsed(line: bytes, index: int, previous: str) -> Record | None:
    """The record of a line; None unless it is the one that was written there."""
    try:
        body = json.loads(line)
        found = body.pop("hash")
        right = body["previous"] == previous and body["index"] == index and _hash(body) == found
        record = Record(index, body["kind"], body["time"], body["fields"], found)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return record if right else None


def _hash(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _head_path(path: Path) -> Path:
    return path.with_suffix(".head")


def _check_head(path: Path, records: list[Record]) -> None:
    try:
        head = _head_path(path).read_text("ascii", errors="replace").strip()
    except FileNotFoundError:
        # Killed after the first line.
        missing, head = len(records) > 1, _START
    else:
        missing = False
    # Killed between a line and its head, the head is that of the line before.
    right = [record.hash for record in records[-2:]] or [_START]
    if len(records) == 1:
        right.append(_START)
    if missing or head not in right:
        raise CannotRunError(
            "the ledger was tampered with: its end isn't the line that was written last; "
            "put the file and its .head back as they were",
            file=path,
        )


def _write_head(path: Path, record: Record) -> None:
    head = _head_path(path)
    text = f"{record.hash}\n".encode("ascii")
    if head.is_file() and head.read_bytes() == text:
        return
    # Its writer holds the ledger's lock, so there is one.
    fresh = head.with_suffix(".head.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        _write_whole(descriptor, text)
    finally:
        os.close(descriptor)
    os.replace(fresh, head)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _write_whole(descriptor: int, content: bytes) -> None:
    """Write all or nothing, and have it on the disk."""
    before = os.fstat(descriptor).st_size
    try:
        if os.write(descriptor, content) != len(content):
            raise OSError("the disk is full")
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, before)
        raise
