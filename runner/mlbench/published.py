"""Reads a study from the tables that a paper printed, each a CSV file in one folder."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.errors import InputError, suggestion
from runner.mlbench.study import Result, Study, System, Task, Winning
from runner.mlbench.tables import WINNING

DATA_SETS = "table4_datasets.csv"
GRIDS = "table5_grid_sizes.csv"
SECONDS = "table6_total_training_seconds.csv"
SCORES = "table8_auc_and_rank.csv"
HIGH_TOLERANCE = "table11_high_tolerance_auc.csv"
WINNERS = "table12_gap_to_winning_code.csv"

_GAPS = ("", "N/A", "NA")
_KINDS = {"linear": True, "nonlinear": False}


@dataclass(frozen=True)
class Cells:
    """A line of a CSV file: its cells by column, and where it stands."""

    file: Path
    line: int
    cells: Mapping[str, str]

    def text(self, column: str) -> str | None:
        """A cell's text; None for an empty one and for ``N/A``."""
        cell = self.cells[column].strip()
        return None if cell in _GAPS else cell

    def name(self, column: str) -> str:
        """A cell's text, which must not be empty."""
        found = self.text(column)
        if found is None:
            raise self.error(f"{column} is empty")
        return found

    def number(self, column: str) -> float | None:
        """A cell's number; None for an empty one."""
        text = self.text(column)
        if text is None:
            return None
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self.error(f"{column} must be a number, not {text!r}")
        return number

    def count(self, column: str) -> int | None:
        """A cell's whole number of 1 or more; None for an empty one."""
        number = self.number(column)
        if number is None:
            return None
        if number < 1 or number != int(number):
            raise self.error(f"{column} must be a whole number from 1 on, not {number:g}")
        return int(number)

    def auc(self, column: str) -> float | None:
        """A cell's AUC; None for an empty one."""
        number = self.number(column)
        if number is not None and not 0 <= number <= 1:
            raise self.error(f"{column} must be an AUC from 0 to 1, not {number:g}")
        return number

    def known(self, column: str, names: Iterable[str]) -> str:
        """A cell's text, which must be one of some names."""
        found, valid = self.name(column), list(names)
        if found not in valid:
            raise self.error(f"there is no {column} {found!r}: {suggestion(found, valid)}")
        return found

    def error(self, message: str) -> InputError:
        """What is wrong with the line."""
        return InputError(message, file=self.file, line=self.line)


def read_cells(path: Path, columns: Iterable[str]) -> list[Cells]:
    """The lines of a CSV file that has at least those columns.

    Raises:
        InputError: With file and line, where it isn't so.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            rows = [(reader.line_num, row) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"can't be read: {reason}", file=path) from None
    if not rows:
        raise InputError("is empty; its first line must name the columns", file=path)
    (_, header), *rest = rows
    for column in columns:
        if column not in header:
            raise InputError(
                f"there is no column {column!r}: {suggestion(column, header)}", file=path, line=1
            )
    for line, row in rest:
        if len(row) != len(header):
            raise InputError(
                f"the line has {len(row)} cells where the header has {len(header)}",
                file=path,
                line=line,
            )
    return [Cells(path, line, dict(zip(header, row, strict=True))) for line, row in rest]


def read_published(folder: str | Path) -> Study:
    """The study whose printed tables are in a folder.

    Reads the data sets (table 4), the number of combinations of each grid (5), total training
    times (6), AUCs and ranks (8), the AUC at tolerance 10 % (11) and what the winning codes are
    (12). The other tables follow from these.

    Args:
        folder: Of the CSV files, as results/published/mlbench/README.md describes them.

    Raises:
        InputError: With file and line, for a file that is missing or wrong.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError("there is no such folder of published tables", file=folder)
    tasks = {line.name("dataset"): line for line in _lines(folder, DATA_SETS)}
    grids = {line.name("system"): line for line in _lines(folder, GRIDS)}
    scores = list(_lines(folder, SCORES))
    winning, aucs = _scores(scores, tasks, grids)
    return Study(
        name=folder.resolve().name,
        tasks=tuple(_tasks(folder, tasks, winning)),
        systems=tuple(map(_system, grids.values())),
        platforms=_platforms(grids),
        results=tuple(_results(tasks, grids, _seconds(folder, tasks, grids), aucs)),
    )


_COLUMNS = {
    DATA_SETS: ("dataset", "train_rows", "test_rows", "features", "teams"),
    GRIDS: ("system", "platform", "model", "combinations", "kind"),
    SECONDS: ("model",),
    SCORES: ("platform", "model", "dataset", "auc", "rank"),
    HIGH_TOLERANCE: ("dataset", "top10_percent_auc"),
    WINNERS: ("dataset", "winning"),
}
_KEYS = {
    DATA_SETS: ("dataset",),
    GRIDS: ("system",),
    SECONDS: ("model",),
    SCORES: ("platform", "model", "dataset"),
    HIGH_TOLERANCE: ("dataset",),
    WINNERS: ("dataset",),
}
_Pair = tuple[str, str]


def _lines(folder: Path, name: str) -> Iterator[Cells]:
    """A table's lines, none of them twice."""
    seen: dict[tuple[str, ...], int] = {}
    for line in read_cells(folder / name, _COLUMNS[name]):
        key = tuple(line.cells[column].strip() for column in _KEYS[name])
        first = seen.setdefault(key, line.line)
        if first != line.line:
            raise line.error(f"{' '.join(filter(None, key))} stands on line {first} already")
        yield line


def _tasks(
    folder: Path, lines: Mapping[str, Cells], winning: Mapping[str, Winning]
) -> Iterator[Task]:
    high = {line.known("dataset", lines): line for line in _lines(folder, HIGH_TOLERANCE)}
    winners = {line.known("dataset", lines): line for line in _lines(folder, WINNERS)}
    for name, line in lines.items():
        won = winning.get(name, Winning())
        yield Task(
            name=name,
            rows=line.count("train_rows"),
            test_rows=line.count("test_rows"),
            features=line.count("features"),
            teams=line.count("teams"),
            winning=Winning(
                won.auc, won.rank, winners[name].cells["winning"] if name in winners else None
            ),
            printed_high=high[name].auc("top10_percent_auc") if name in high else None,
        )


def _system(line: Cells) -> System:
    kind = line.known("kind", _KINDS)
    return System(line.name("system"), line.name("model"), _KINDS[kind])


def _platforms(grids: Mapping[str, Cells]) -> Mapping[str, tuple[str, ...]]:
    names = dict.fromkeys(line.name("platform") for line in grids.values())
    return {
        name: tuple(system for system, line in grids.items() if line.name("platform") == name)
        for name in names
    }


def _seconds(
    folder: Path, tasks: Mapping[str, Cells], grids: Mapping[str, Cells]
) -> Mapping[_Pair, float]:
    """Total training seconds by task and system."""
    found = {}
    for line in _lines(folder, SECONDS):
        # The systems' own names: the table is one platform's.
        system = line.known("model", grids)
        for column in line.cells:
            if column == "model":
                continue
            if column not in tasks:
                raise InputError(
                    f"there is no dataset {column!r}: {suggestion(column, tasks)}",
                    file=line.file,
                    line=1,
                )
            seconds = line.number(column)
            if seconds is not None and seconds < 0:
                raise line.error(f"{column} must be a time in seconds, not {seconds:g}")
            if seconds is not None:
                found[column, system] = seconds
    return found


def _scores(
    lines: Iterable[Cells], tasks: Mapping[str, Cells], grids: Mapping[str, Cells]
) -> tuple[Mapping[str, Winning], Mapping[_Pair, tuple[float | None, int | None]]]:
    """The winning codes by task; AUC and rank by task and system."""
    systems = {(line.name("platform"), line.name("model")): name for name, line in grids.items()}
    winning, found = {}, {}
    for line in lines:
        task = line.known("dataset", tasks)
        auc, rank = line.auc("auc"), line.count("rank")
        teams = tasks[task].count("teams")
        if rank is not None and teams is not None and rank > teams:
            raise line.error(f"rank {rank} is beyond the {teams} teams of {task}")
        platform = line.known("platform", [WINNING, *(platform for platform, _ in systems)])
        if platform == WINNING:
            winning[task] = Winning(auc, rank)
            continue
        model = line.known("model", [model for other, model in systems if other == platform])
        found[task, systems[platform, model]] = auc, rank
    return winning, found


def _results(
    tasks: Iterable[str],
    grids: Mapping[str, Cells],
    seconds: Mapping[_Pair, float],
    aucs: Mapping[_Pair, tuple[float | None, int | None]],
) -> Iterator[Result]:
    for task, system in itertools.product(tasks, grids):
        auc, rank = aucs.get((task, system), (None, None))
        yield Result(
            task=task,
            system=system,
            configurations=grids[system].count("combinations"),
            auc=auc,
            rank=rank,
            total_seconds=seconds.get((task, system)),
            why="not published",
        )
