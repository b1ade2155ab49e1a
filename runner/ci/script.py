"""The script of a condition's file, which writes the two models' predictions."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runner.ci.columns import ID
from runner.ci.environment import without_secrets
from runner.ci.predictions import HeldOut
from runner.errors import CannotRunError

OLD_VARIABLE = "RUNNER_CI_OLD"
NEW_VARIABLE = "RUNNER_CI_NEW"
IDS_VARIABLE = "RUNNER_CI_IDS"


@dataclass(frozen=True)
class Written:
    """The files that a script wrote.

    Attributes:
        old: None if it wrote none.
    """

    new: Path
    old: Path | None


@contextmanager
def script_predictions(command: str, folder: Path, rows: HeldOut | None) -> Iterator[Written]:
    """Run a script and have what it writes, until the end of the block.

    It is told by the environment where to write: ``RUNNER_CI_OLD`` and ``RUNNER_CI_NEW``, each a
    file of ids and predictions, CSV or Parquet; and, where the test set's files say, which rows to
    predict: ``RUNNER_CI_IDS``, a CSV of ids. What it prints goes to the standard error. It runs in
    the folder of the condition's file, by the shell, without the secrets of the environment.

    Raises:
        CannotRunError: If it fails or writes no new predictions.
    """
    with tempfile.TemporaryDirectory(prefix="runner-ci-") as made:
        old, new = Path(made) / "old.csv", Path(made) / "new.csv"
        environment = without_secrets(os.environ)
        environment |= {OLD_VARIABLE: str(old), NEW_VARIABLE: str(new)}
        if rows is not None:
            environment[IDS_VARIABLE] = str(_write_ids(Path(made) / "ids.csv", rows))
        sys.stdout.flush()
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=_standard_error(),
            check=False,
        )
        if done.returncode:
            raise CannotRunError(f"no verdict: `{command}` ended with status {done.returncode}")
        if not new.is_file():
            raise CannotRunError(
                f"no verdict: `{command}` wrote no predictions; the environment says where they "
                f"go ({NEW_VARIABLE}, {OLD_VARIABLE})"
            )
        yield Written(new, old if old.is_file() else None)


def _standard_error() -> int:
    try:
        return sys.stderr.fileno()
    except (OSError, ValueError):
        # A program that has put something else in its place.
        return subprocess.DEVNULL


def _write_ids(path: Path, rows: HeldOut) -> Path:
    # Sorted: the order in which rows are judged tells nothing, and is nobody's business.
    ids = sorted([*rows.ids, *(rows.pool or ())])
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[ID], *([one] for one in ids)])
    return path
