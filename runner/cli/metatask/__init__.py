"""``runner metatask``: tasks with the stored predictions of many models, and ensembles of those."""

from __future__ import annotations

import click

from runner.cli.lazy import LazyGroup

_COMMANDS = {
    "build": "runner.cli.metatask.build",
    "show": "runner.cli.metatask.show",
    "filter": "runner.cli.metatask.filter",
    "convert": "runner.cli.metatask.convert",
    "simulate": "runner.cli.metatask.simulate",
    "score": "runner.cli.metatask.score",
}


@click.group("metatask", cls=LazyGroup, modules=_COMMANDS)
def command() -> None:
    """Metatasks: a task with the stored predictions of many models.

    Example: runner metatask show metatasks/metatask_31.arrow
    """
