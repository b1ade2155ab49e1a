"""``runner metatask convert``: from one format into another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.metatask.metatasks import metatasks_argument

if TYPE_CHECKING:
    from runner.metatask.formats import Format


@click.command("convert")
@metatasks_argument
@click.option(
    "--output", type=click.Path(path_type=Path), required=True, help="The folder to write into."
)
@click.option(
    "--to",
    "form",
    type=click.Choice(["arrow", "original", "original-paper"]),
    default="arrow",
    show_default=True,
    help="The own format, or Assembled-OpenML's CSV and JSON of its later package or its paper.",
)
def command(metatasks: tuple[Path, ...], output: Path, form: Format) -> None:
    """Write the metatasks IN... (files, or folders of them) in another format.

    No number is changed. A file of the own format is compared with its fingerprint first.

    Example: runner metatask convert metatasks/ --output arrow/
    """
    from runner.metatask import formats

    paths = formats.find(metatasks)
    formats.check_targets(((path, formats.name_of(path)) for path in paths), output, form)
    for path in paths:
        written = formats.save(formats.verify(path), output, form)
        click.echo(f"{path} -> {written}")
