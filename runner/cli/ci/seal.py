"""``runner ci seal``: labels that can lie about, since only the private key opens them."""

from __future__ import annotations

from pathlib import Path

import click

from runner.cli.ci import options
from runner.errors import InputError


@click.command("seal")
@click.argument("labels", type=click.Path(path_type=Path))
@click.option("--public-key", required=True, metavar="KEY", help="What `runner ci keys` printed.")
@click.option(
    "--output", required=True, type=click.Path(path_type=Path), help="The sealed file to write."
)
def command(labels: Path, public_key: str, output: Path) -> None:
    """Seal the file LABELS to a public key.

    The sealed file may be in the repository; remove the open one, or keep it where no developer
    can read it.

    Example: runner ci seal may.csv --public-key public-... --output may.sealed
    """
    from runner.ci.columns import read_columns, read_file
    from runner.ci.held_out import LABEL
    from runner.ci.sealing import is_sealed, seal

    content = read_file(labels)
    if is_sealed(content):
        raise InputError("is sealed already", file=labels)
    # What isn't a file of labels is found now, not at the first commit.
    read_columns(content, labels, LABEL)
    try:
        sealed = seal(content, public_key)
    except ValueError as error:
        raise InputError(f"--public-key {error}") from None
    options.write(output, sealed)
