"""Options of the commands that ask OpenML: what for, and how politely."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Any], Any]


class _TaskNumber(click.IntRange):
    """The number of a task at OpenML; those of made metatasks are below 1."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:
            number = 0
        if number < 1:
            self.fail(f"{value} is no task number: OpenML's are whole and above 0", param, ctx)
        return number


tasks_option: Decorator = click.option(
    "--openml-task",
    "tasks",
    type=_TaskNumber(),
    multiple=True,
    metavar="ID",
    help="A task of OpenML's.",
)
suites_option: Decorator = click.option(
    "--openml-suite", "suites", multiple=True, metavar="ID", help="All tasks of a suite."
)
per_second_option: Decorator = click.option(
    "--per-second",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    help="Requests to the server a second.",
)
at_once_option: Decorator = click.option(
    "--at-once",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="Requests to the server at the same time.",
)
