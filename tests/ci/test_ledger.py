"""The ledger: what is written stays, what was changed is found, what a crash left is taken off."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from runner.ci.ledger import locked, read
from runner.errors import CannotRunError, InputError


def filled(folder: Path, lines: int = 4) -> Path:
    path = folder / "made" / "x.jsonl"
    with locked(path) as ledger:
        for i in range(lines):
            ledger.append("step", number=i, text="é\n\ud800")
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = filled(tmp_path)
    with locked(path) as ledger:
        ledger.append("end")
        within = ledger.records
    assert read(path) == within
    assert [r.index for r in within] == [0, 1, 2, 3, 4]
    assert within[1].fields == {"number": 1, "text": "é\n\ud800"}
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert read(tmp_path / "none.jsonl") == ()


def test_every_changed_byte_is_found(tmp_path: Path) -> None:
    path = filled(tmp_path)
    content = path.read_bytes()
    for at in range(0, len(content), 7):
        changed = bytearray(content)
        changed[at] ^= 1
        path.write_bytes(changed)
        with pytest.raises(CannotRunError, match="tampered"):
            read(path)
        with pytest.raises(CannotRunError, match="tampered"), locked(path):
            pass
        # Refused as it is, not mended.
        assert path.read_bytes() == changed


def test_lines_that_are_gone_changed_places_or_doubled(tmp_path: Path) -> None:
    path = filled(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    for kept in ([0, 1, 2], [0, 1], [0], [], [1, 2, 3], [0, 2, 3], [0, 2, 1, 3], [0, 1, 2, 3, 3]):
        path.write_bytes(b"".join(lines[i] for i in kept))
        with pytest.raises(CannotRunError, match="tampered"):
            read(path)
    path.unlink()
    with pytest.raises(CannotRunError, match="tampered"):
        read(path)


def test_a_head_that_is_gone_or_older(tmp_path: Path) -> None:
    path = filled(tmp_path)
    head = path.with_suffix(".head")
    head.unlink()
    with pytest.raises(CannotRunError, match="tampered"):
        read(path)
    hashes = [json.loads(line)["hash"] for line in path.read_text().splitlines()]
    for held, right in ((hashes[3], True), (hashes[2], True), (hashes[1], False), ("", False)):
        head.write_text(held + "\n")
        if right:
            assert len(read(path)) == 4
        else:
            with pytest.raises(CannotRunError, match="tampered"):
                read(path)


def test_what_a_crash_leaves_is_taken_off(tmp_path: Path) -> None:
    path = filled(tmp_path)
    content = path.read_bytes()
    last = content.splitlines(keepends=True)[-1]
    for cut in (1, len(last) // 2, len(last) - 1):
        path.write_bytes(content + last[:cut])
        assert len(read(path)) == 4
        with locked(path) as ledger:
            assert len(ledger.records) == 4
        assert path.read_bytes() == content
    first = filled(tmp_path / "other", lines=1)
    first.with_suffix(".head").unlink()
    with locked(first) as ledger:
        ledger.append("step", number=1)
    assert len(read(first)) == 2


def test_no_line_goes_into_a_file_that_was_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    written = threading.Barrier(8)

    def refuse_then_write(number: int) -> None:
        written.wait()
        for _ in range(20):
            with locked(path):
                # Nothing comes of it: the file goes, if it is empty.
                pass
        with locked(path) as ledger:
            ledger.append("step", number=number)

    threads = [threading.Thread(target=refuse_then_write, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(record.fields["number"] for record in read(path)) == list(range(8))


def test_a_folder_in_the_ledgers_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be read: Is a directory"):
        read(tmp_path)


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = filled(tmp_path)
    content = path.read_bytes()
    import os

    whole = os.write
    with locked(path) as ledger:
        monkeypatch.setattr(os, "write", lambda descriptor, text: whole(descriptor, text[:9]))
        with pytest.raises(CannotRunError, match="the disk is full; nothing is recorded"):
            ledger.append("step", number=9)
        monkeypatch.undo()
    assert path.read_bytes() == content
    assert len(read(path)) == 4
