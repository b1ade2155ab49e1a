"""The test set that a condition's file names, opened: its labels, sealed or kept private."""

from __future__ import annotations

from pathlib import Path

from runner.ci import sealing
from runner.ci.access import check_private
from runner.ci.columns import Columns, read_columns, read_file
from runner.ci.file import CiFile
from runner.ci.predictions import HeldOut, held_out
from runner.errors import InputError

LABEL = "label"


def open_held_out(file: CiFile, private_key: str | None) -> HeldOut | None:
    """The rows of the file's test set; None where no file says which they are.

    Raises:
        CannotRunError: If others can read the labels, the key doesn't open them, or an id repeats.
        InputError: If a file is missing or wrong, or the condition needs labels and there are none.
    """
    testset = file.testset
    labels = testset and testset.labels and open_labels(testset.labels, private_key)
    pool = testset and testset.pool and _pool(testset.pool)
    if labels is None and file.guarantee.condition.variables - {"d"}:
        raise InputError(
            "the condition needs labels: name their file as `labels` of `testset`, or by --labels",
            file=file.path,
            line=file.line("testset" if testset else "condition"),
        )
    return held_out(labels or None, pool or None)


def open_labels(path: Path, private_key: str | None) -> Columns:
    """Labels: a column ``id`` and a column ``label``, empty where one isn't known yet.

    Raises:
        CannotRunError: If others can read them, or the key doesn't open them.
        InputError: If they can't be read.
    """
    return read_columns(open_content(path, private_key), path, LABEL)


def open_content(path: Path, private_key: str | None) -> bytes:
    """What a file of labels holds, unsealed."""
    content = read_file(path)
    if not sealing.is_sealed(content):
        check_private(path, "the labels")
        return content
    if private_key is None:
        raise InputError(
            f"is sealed: give the private key in the environment ({sealing.KEY_VARIABLE}) or "
            "by --key",
            file=path,
        )
    return sealing.unseal(content, private_key, path)


def _pool(path: Path) -> Columns:
    return read_columns(read_file(path), path, None)
