"""Which results a command means when none are named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from runner.errors import InputError

RESULTS = Path("results")


class Folder(click.ParamType[Path]):
    """A folder's path; an empty text, as an unset variable leaves it, is none."""

    name = "folder"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        if not str(value):
            self.fail("an empty text is no folder's name", param, ctx)
        return Path(str(value))


def results_option(purpose: str) -> Callable[[Any], Any]:
    """``--results`` of a command that reads a store."""
    default = "  [default: the only ones below results/]"
    return click.option("--results", type=Folder(), help=f"{purpose}{default}")


def results_folder(given: Path | None) -> Path:
    """The folder given, else the only store below results/.

    Raises:
        InputError: There is none, or there are several to choose from.
    """
    if given is not None:
        return given
    stores = sorted(path.parent for path in RESULTS.glob("*/attempts"))
    if len(stores) == 1:
        return stores[0]
    if not stores:
        raise InputError("there are no results below results/; name their folder with --results")
    names = ", ".join(map(str, stores))
    raise InputError(f"there are several results ({names}); name one with --results")
