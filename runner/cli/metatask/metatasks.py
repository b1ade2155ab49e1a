"""What the commands on metatasks that exist have in common: IN..., files or folders of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

metatasks_argument: Callable[[Any], Any] = click.argument(
    "metatasks", metavar="IN...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
