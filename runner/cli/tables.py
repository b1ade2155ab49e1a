"""An Arrow table for people: rows side by side where they fit, else one value a line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import pyarrow as pa

_OBEYED = frozenset(map(chr, [*range(32), *range(127, 160)])) - {"\n", "\t"}
UNBOUNDED = 1_000_000
"""A width for pipes, in which each row gets its line."""
MOST_ROWS = 1000
"""What people read of a table; laying out more takes longer than the query."""
MOST_LETTERS = 60
"""What people read of a list in a cell on a terminal."""


def print_table(answer: pa.Table) -> None:
    """Print rows and columns; on a terminal too narrow for them a block of lines a row.

    Of a long table only the beginning, with a word on the rest.
    """
    _print_rows(answer.slice(0, MOST_ROWS))
    if answer.num_rows > MOST_ROWS:
        rest = f"... and {answer.num_rows - MOST_ROWS} more rows"
        sys.stdout.write(f"{rest}: --format csv or json prints them all\n")


def _print_rows(answer: pa.Table) -> None:
    terminal = sys.stdout.isatty()
    console = Console() if terminal else Console(width=UNBOUNDED)
    write = _cut if terminal else plain
    table = _side_by_side(answer, write)
    if console.measure(table, options=console.options.update_width(UNBOUNDED)).maximum <= (
        console.width
    ):
        console.print(table)
        return
    for number, row in enumerate(answer.to_pylist(), 1):
        console.print(Text(f"row {number}", style="bold"))
        for name, value in row.items():
            console.print(Text(f"  {name}: {_harmless(write(value))}"), soft_wrap=True)


def plain(value: Any) -> str:
    """A value as text: nothing for null, and intervals as Python writes durations."""
    if value is None:
        return ""
    if all(hasattr(value, part) for part in ("months", "days", "nanoseconds")):
        length = timedelta(days=value.days, microseconds=value.nanoseconds / 1000)
        return f"{value.months} months {length}" if value.months else str(length)
    return str(value)


def _cut(value: Any) -> str:
    """A value as text, of a long list or structure only the beginning."""
    if not isinstance(value, list | dict):
        return plain(value)
    # A million numbers needn't be written out to be cut.
    few = value[:MOST_LETTERS] if isinstance(value, list) else value
    text = plain(few)
    if len(few) == len(value) and len(text) <= MOST_LETTERS:
        return text
    return f"{text[:MOST_LETTERS].rstrip()} ... ({len(value)} values)"


def _harmless(text: str) -> str:
    """The text with what a terminal would obey written out, such as the start of a colour."""
    return "".join(
        letter.encode("unicode_escape").decode() if letter in _OBEYED else letter for letter in text
    )


def _side_by_side(answer: pa.Table, write: Callable[[Any], str]) -> Table:
    from pyarrow import types

    table = Table(box=SIMPLE_HEAD)
    for field in answer.schema:
        numeric = types.is_integer(field.type) or types.is_floating(field.type)
        table.add_column(field.name, justify="right" if numeric else "left", overflow="fold")
    for row in answer.to_pylist():
        table.add_row(*(Text(_harmless(write(value))) for value in row.values()))
    return table
