"""Failures of several things that a command was to do, each in a line."""

from __future__ import annotations

from collections.abc import Sequence

import click

from runner.errors import InputError


def raise_failures(errors: Sequence[InputError]) -> None:
    """Tell all errors, the last by raising it; nothing where there is none.

    Where the server can't be reached, all that is wanted of it fails alike: one of these serves.

    Raises:
        InputError: There is an error.
    """
    from runner.openml import UnreachableError

    if not errors:
        return
    alike = [error for error in errors if isinstance(error, UnreachableError)]
    others = [error for error in errors if not isinstance(error, UnreachableError)]
    for error in others if alike else others[:-1]:
        click.echo(f"error: {error}", err=True)
    if not alike:
        raise others[-1]
    more = f"; {len(alike) - 1} more failed likewise" if len(alike) > 1 else ""
    raise UnreachableError(f"{alike[0].message}{more}")
