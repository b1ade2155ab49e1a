"""What several commands on conditions take: the file, the key, and what stands in for its keys."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.errors import InputError

if TYPE_CHECKING:
    from runner.ci import CiFile

FILE = click.argument("file", type=click.Path(path_type=Path))
LABELS = click.option(
    "--labels",
    type=click.Path(path_type=Path),
    help="The test set's labels.  [default: the file's]",
)
LEDGER = click.option(
    "--ledger",
    type=click.Path(path_type=Path),
    help="The folder of the ledgers.  [default: the file's, or ci-ledger beside it]",
)
KEY = click.option(
    "--key",
    type=click.Path(path_type=Path),
    help="A file with the private key.  [default: RUNNER_CI_PRIVATE_KEY of the environment]",
)


class FiniteRange(click.FloatRange):
    """A range without NaN, which no bound keeps out, and without infinity."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number, if it is one of the range."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no number of the range {self._describe_range()}.", param, ctx)
        return number


JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")


def load(file: Path, labels: Path | None, ledger: Path | None) -> CiFile:
    """The file, with what stands in for its keys."""
    from dataclasses import replace

    from runner.ci import load_ci_file
    from runner.ci.file import TestSet
    from runner.ci.ledgers import UNNAMED

    found = load_ci_file(file)
    if labels is not None:
        testset = found.testset or TestSet(UNNAMED, None, None)
        found = replace(found, testset=replace(testset, labels=labels))
    return found if ledger is None else replace(found, ledger=ledger)


def write(path: Path, content: bytes) -> None:
    """Write a new file that only its owner can read.

    Raises:
        InputError: If something is there already, or it can't be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InputError("is there already; name a new file", file=path) from None
    except OSError as error:
        raise InputError(f"can't be written: {error.strerror}", file=path) from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
