"""A group of commands whose modules are imported when they are asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from runner.errors import suggestion


class LazyGroup(click.Group):
    """Imports a command's module when it is asked for: `runner query` needs no Ray.

    Args:
        modules: By a command's name, the module that has it as ``command``.
    """

    def __init__(self, *args: Any, modules: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = self._modules.get(cmd_name)
        if module is None:
            ctx.fail(f"there is no command {cmd_name!r}: {suggestion(cmd_name, self._modules)}")
        command: click.Command = importlib.import_module(module).command
        return command
