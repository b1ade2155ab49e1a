"""A file is replaced as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.errors import InputError
from runner.replacing import replacing


def test_the_file_and_its_folder_appear_once_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    with replacing(path) as temporary:
        temporary.write_text("half")
        assert not path.exists()
    assert path.read_text() == "half"
    assert list(path.parent.iterdir()) == [path]


def write_until_interrupted(path: Path) -> None:
    with replacing(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_until_interrupted(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_dont_meet(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with replacing(path) as one, replacing(path) as other:
        one.write_text("one")
        other.write_text("other")
    assert path.read_text() == "one"
    assert list(tmp_path.iterdir()) == [path]


def write_new(path: Path) -> None:
    with replacing(path) as temporary:
        temporary.write_text("new")


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    file, link = tmp_path / "folder" / "file", tmp_path / "link"
    file.parent.mkdir()
    file.write_text("old")
    link.symlink_to(file)
    write_new(link)
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert os.listdir(file.parent) == ["file"]


def test_a_pipe_or_a_device_is_not_replaced(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "full"
    os.mkfifo(pipe)
    link.symlink_to("/dev/full")
    for path, word in ((pipe, "pipe"), (link, "device"), (tmp_path, "folder")):
        with pytest.raises(InputError, match=word):
            write_new(path)
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["full", "pipe"]
