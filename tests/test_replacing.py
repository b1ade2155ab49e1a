"""What a new file may take the place of."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.errors import InputError
from runner.replacing import replacing


def write(path: Path) -> None:
    with replacing(path) as temporary:
        temporary.write_text("new")


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    file, link = tmp_path / "folder" / "file", tmp_path / "link"
    file.parent.mkdir()
    file.write_text("old")
    link.symlink_to(file)
    write(link)
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert os.listdir(file.parent) == ["file"]


def test_a_pipe_or_a_device_is_not_replaced(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "full"
    os.mkfifo(pipe)
    link.symlink_to("/dev/full")
    for path, word in ((pipe, "pipe"), (link, "device"), (tmp_path, "folder")):
        with pytest.raises(InputError, match=word):
            write(path)
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["full", "pipe"]
