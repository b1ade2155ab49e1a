"""The summary for people (a terminal) and for programs (CSV)."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from runner.store import OUTCOMES

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


_ROOM_FOR_CONFIGURATIONS = 140


class SummaryTable:
    """A summary as something that rich prints.

    Narrow terminals get fewer columns, and the configurations below the table: a column of folded
    letters helps nobody.

    Attributes:
        rows: The summary's rows, a dict each.
    """

    def __init__(self, summary: pa.Table):
        self.rows = summary.to_pylist()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        # The box puts a blank between columns of its own.
        box, padding = (SIMPLE_HEAD, (0, 1, 0, 0)) if console.is_terminal else (None, (0, 2, 0, 0))
        table = Table(box=box, padding=padding, pad_edge=False, header_style="bold")
        columns = _columns(options.max_width, several_machines=self._several_machines())
        for column in columns:
            table.add_column(
                column.title,
                justify="right" if column.number else "left",
                no_wrap=column.number,
                min_width=column.least,
                overflow="fold",
            )
        for row in self.rows:
            table.add_row(*(Text(column.cell(row)) for column in columns))
        yield table
        if options.max_width < _ROOM_FOR_CONFIGURATIONS:
            for row in self.rows:
                yield Text(f"{row['system']} on {row['task']}: {_configuration(row)}")

    def _several_machines(self) -> bool:
        used = {row["machines"] for row in self.rows if row["machines"]}
        return len(used) > 1 or any("+" in letters for letters in used)


@dataclass(frozen=True)
class _Column:
    """A column: ``room`` is the width of the terminal from which on it is shown."""

    title: str
    cell: Callable[[dict[str, Any]], str]
    number: bool = False
    least: int | None = None
    room: int = 0


def _columns(width: int, *, several_machines: bool) -> list[_Column]:
    with_deviation = _Column("CV AUC ± sd", _auc_with_deviation, number=True)
    columns = [
        _Column("task", lambda row: row["task"], least=8),
        _Column("system", lambda row: row["system"], least=6),
        _Column("best configuration", _configuration, room=_ROOM_FOR_CONFIGURATIONS),
        with_deviation if width >= 68 else _Column("CV AUC", _auc, number=True),
        _Column("test AUC", _test, number=True, room=52),
        _Column("total s", _total, number=True),
        _Column("average s", _seconds("average_training_seconds"), number=True, room=68),
        _Column("outcomes", _outcomes, least=9, room=68),
    ]
    if several_machines:
        columns.insert(-1, _Column("machine", lambda row: row["machines"] or "-"))
    return [column for column in columns if width >= column.room]


def _seconds(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda row: seconds_text(row[name])


def write_csv(table: pa.Table, path: Path) -> None:
    """Writes a table with a header line; floats in full precision, null as an empty field."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.column_names)
        writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))


def seconds_text(seconds: float | None) -> str:
    """Seconds with three significant digits, whole ones in full."""
    if seconds is None:
        return "-"
    if seconds >= 100:
        return f"{seconds:,.0f}"
    return f"{seconds:#.3g}" if seconds >= 0.001 else f"{seconds:.1e}" if seconds else "0"


def configuration_text(configuration: str) -> str:
    """A configuration's JSON as ``name=value`` pairs."""
    return " ".join(f"{name}={value}" for name, value in json.loads(configuration).items())


def _configuration(row: dict[str, Any]) -> str:
    if row["configuration"] is None:
        return "no selection"
    return f"#{row['configuration_id']} {configuration_text(row['configuration'])}".rstrip()


def _auc(row: dict[str, Any]) -> str:
    return "-" if row["cv_auc"] is None else f"{row['cv_auc']:.4f}"


def _auc_with_deviation(row: dict[str, Any]) -> str:
    deviation = "" if row["cv_auc_sd"] is None else f" ± {row['cv_auc_sd']:.4f}"
    return _auc(row) + deviation


def _test(row: dict[str, Any]) -> str:
    auc = row["test_auc"]
    external = row["external_auc"]
    own = (row["test_outcome"] or "-") if auc is None else f"{auc:.4f}"
    if auc is None and row["test_outcome"] == "ok":
        # Only a competition has the labels.
        return "awaited" if external is None else f"{external:.4f} (external)"
    return own if external is None else f"{own} (external {external:.4f})"


def _total(row: dict[str, Any]) -> str:
    low, high = row["total_training_seconds_low"], row["total_training_seconds_high"]
    total = seconds_text(row["total_training_seconds"])
    return total if low is None else f"{total} ({seconds_text(low)}–{seconds_text(high)})"


def _outcomes(row: dict[str, Any]) -> str:
    counts = [(row[name], name) for name in (*OUTCOMES, "missing") if row[name]]
    return ", ".join(f"{count} {name}" for count, name in counts) or "none"
