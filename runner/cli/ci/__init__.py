"""``runner ci``: conditions that a new model must meet, with the labels they need."""

from __future__ import annotations

import click

from runner.cli.lazy import LazyGroup

_COMMANDS = {
    "size": "runner.cli.ci.size",
}


@click.group("ci", cls=LazyGroup, modules=_COMMANDS)
def command() -> None:
    """Conditions on a new model against the old one, with a guarantee on their verdicts.

    Example: runner ci size .travis.yml
    """
