"""``runner ci rotate``: the end of a test set and the beginning of the next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.ci import options
from runner.errors import InputError

if TYPE_CHECKING:
    from runner.ci import CiFile


@click.command("rotate")
@options.FILE
@options.LABELS
@options.LEDGER
@options.KEY
@click.option(
    "--release",
    type=click.Path(path_type=Path),
    help="Write the old labels to this file, unsealed, for the developers.",
)
@click.option(
    "--to",
    "new_labels",
    type=click.Path(path_type=Path),
    help="The labels of the test set that replaces it.",
)
@click.option("--pool", "new_pool", type=click.Path(path_type=Path), help="Its pool.")
@click.option("--name", help="Its name.  [default: the stem of its file]")
@options.JSON
def command(
    file: Path,
    labels: Path | None,
    ledger: Path | None,
    key: Path | None,
    release: Path | None,
    new_labels: Path | None,
    new_pool: Path | None,
    name: str | None,
    as_json: bool,
) -> None:
    """Retire the test set of FILE for good, and begin the account of the one that replaces it.

    Then name the new one in FILE.

    Example: runner ci rotate .travis.yml --release old-labels.csv --to june.csv
    """
    from runner.ci.held_out import open_held_out
    from runner.ci.rotation import release_labels, rotate
    from runner.ci.sealing import private_key

    if new_labels is None and (new_pool is not None or name is not None):
        raise click.UsageError("--pool and --name say more of the new test set: give --to as well")
    secret = private_key(key)
    found = options.load(file, labels, ledger)
    old = open_held_out(found, secret)
    if old is None:
        raise InputError(
            "no file says which rows the test set has, so only its name can tell it from the "
            "next: give another `name` of `testset`",
            file=file,
        )
    new = None
    if new_labels is not None:
        renewed = _renewed(found, new_labels, new_pool, name)
        rows = open_held_out(renewed, secret)
        assert rows is not None
        new = (renewed, rows)
    rotated = rotate(found, old, new)
    if release is not None:
        release_labels(found, old, secret, release)
    document = {
        "retired": rotated.retired.name,
        "used": rotated.retired.used,
        "released": None if release is None else str(release),
        "opened": None if rotated.opened is None else rotated.opened.name,
    }
    if as_json:
        click.echo(json.dumps(document))
        return
    click.echo(f"retired: {rotated.retired.name}, after {rotated.retired.used:,} steps")
    if release is not None:
        click.echo(f"released: {release}")
    if new is not None:
        click.echo(f"begun: {new[0].testset and new[0].testset.name}; set in {file}:")
        click.echo(f"  testset: {_testset_text(new[0])}")


def _renewed(file: CiFile, labels: Path, pool: Path | None, name: str | None) -> CiFile:
    from dataclasses import replace

    from runner.ci.file import TestSet

    kept = None if file.testset is None else file.testset.pool
    return replace(file, testset=TestSet(name or labels.stem, labels, pool or kept))


def _testset_text(file: CiFile) -> str:
    """The new test set as the file has it; JSON is YAML."""
    import os

    testset = file.testset
    assert testset is not None
    places = {"labels": testset.labels, "pool": testset.pool}
    folder = file.path.parent.resolve()
    return json.dumps(
        {
            "name": testset.name,
            **{
                key: os.path.relpath(path.resolve(), folder)
                for key, path in places.items()
                if path is not None
            },
        }
    )
