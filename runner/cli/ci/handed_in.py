"""The predictions that a test is given: files, a script's, or a study's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.errors import InputError

if TYPE_CHECKING:
    from runner.ci import CiFile
    from runner.ci.columns import Columns
    from runner.ci.predictions import HeldOut


@contextmanager
def stored(
    file: CiFile, results: Path | None, task: str | None, old: Path | None, new: Path | None
) -> Iterator[tuple[Path | None, Path | None]]:
    """The files of old and new predictions, taken from a study's results where one is named."""
    from runner.ci.stored import Model, stored_predictions

    if results is None:
        if task is not None:
            raise click.UsageError("--task is one of a study: give its --results")
        yield old, new
        return
    if new is None:
        raise click.UsageError("--results needs --new, a system of the study")
    models = [Model.named(str(name)) for name in (new, old) if name is not None]
    positive = file.guarantee.facts.positive
    with stored_predictions(results, models, task, positive) as files:
        yield files[1] if old is not None else None, files[0]


@contextmanager
def predictions(
    file: CiFile, key: Path | None, old: Path | None, new: Path | None, rows: HeldOut | None
) -> Iterator[tuple[Columns, Columns | None]]:
    """New and old predictions, from the files named or those that the script writes."""
    from runner.ci.predictions import read_predictions
    from runner.ci.script import script_predictions

    if new is not None:
        _check_old(file, old)
        _check_apart(file, key, new, old)
        yield read_predictions(new), None if old is None else read_predictions(old)
        return
    if file.script is None:
        raise InputError(
            "give the predictions (--old and --new), or a `script` that writes them", file=file.path
        )
    with script_predictions(file.script, file.path.parent, rows) as written:
        _check_old(file, written.old)
        _check_apart(file, key, written.new, written.old)
        before = None if written.old is None else read_predictions(written.old)
        yield read_predictions(written.new), before


def _check_apart(file: CiFile, key: Path | None, *predictions: Path | None) -> None:
    from runner.ci.access import check_apart
    from runner.ci.ledgers import ledger_folder

    labels = None if file.testset is None else file.testset.labels
    secrets = [path for path in (labels, key) if path is not None]
    for path in predictions:
        if path is not None:
            check_apart(path, secrets, ledger_folder(file))


def _check_old(file: CiFile, old: Path | None) -> None:
    from runner.ci.metrics import model_of

    names = file.guarantee.condition.variables
    compared = sorted(name for name in names if model_of(name) in {"o", "d"})
    if old is None and compared:
        raise InputError(
            f"the condition speaks of {' and '.join(compared)}, so it needs the old model's "
            "predictions too (--old, or RUNNER_CI_OLD for a script)",
            file=file.path,
            line=file.line("condition"),
        )
