"""``runner ci``: conditions that a new model must meet, with the labels they need."""

from __future__ import annotations

import click

from runner.cli.lazy import LazyGroup

_COMMANDS = {
    "size": "runner.cli.ci.size",
    "test": "runner.cli.ci.test",
    "status": "runner.cli.ci.status",
    "rotate": "runner.cli.ci.rotate",
    "keys": "runner.cli.ci.keys",
    "seal": "runner.cli.ci.seal",
    "open": "runner.cli.ci.open",
    "drift": "runner.cli.ci.drift",
    "time": "runner.cli.ci.time",
}


@click.group("ci", cls=LazyGroup, modules=_COMMANDS)
def command() -> None:
    """Conditions on a new model against the old one, with a guarantee on their verdicts.

    Example: runner ci test .travis.yml --old old.csv --new new.csv
    """
