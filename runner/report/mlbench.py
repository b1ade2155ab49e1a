"""mlbench's tables and figures as files: of a study, and of the paper's printed numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from runner.errors import InputError, suggestion
from runner.mlbench.prints import Difference, differences
from runner.mlbench.published import read_published
from runner.mlbench.study import Study
from runner.mlbench.tables import tables
from runner.report.figures import figures
from runner.report.style import save
from runner.report.table import write_csv

PUBLISHED = Path("results/published")
"""Where the repository keeps printed tables, a folder for each paper."""


@dataclass(frozen=True)
class Paper:
    """A paper's numbers, computed again and written down.

    Attributes:
        tables: By name.
        differences: The printed cells that the computed tables don't confirm.
        files: All that was written.
    """

    study: Study
    tables: dict[str, pa.Table]
    differences: list[Difference]
    files: tuple[Path, ...]


def write_published(name: str, output: Path) -> Paper:
    """Writes the tables and figures that follow from a paper's printed numbers.

    Args:
        name: A folder below results/published, or the path of one like it.
        output: The folder to write into; it is made where it is missing.

    Raises:
        InputError: There is no such folder, it holds something wrong, or the output can't be
            written.
    """
    folder = published_folder(name)
    study = read_published(folder)
    found = tables(study)
    files = write_study(study, output, found)
    return Paper(study, found, differences(study, folder), files)


def write_study(
    study: Study, output: Path, found: dict[str, pa.Table] | None = None
) -> tuple[Path, ...]:
    """Writes a study's tables to ``output/tables`` and its figures to ``output/figures``.

    Args:
        study: What was found.
        output: A folder, made where it is missing.
        found: The tables, where they are computed already.

    Returns:
        The files.

    Raises:
        InputError: A file can't be written.
    """
    try:
        return (*_write_tables(found or tables(study), output), *_write_figures(study, output))
    except OSError as error:
        raise InputError(f"can't write here: {error.strerror or error}", file=output) from error


def published_folder(name: str) -> Path:
    """The folder of a paper's printed tables, below results/ here or in the checkout.

    Raises:
        InputError: There is none of that name.
    """
    checkout = Path(__file__).resolve().parents[2]
    places = [PUBLISHED, checkout / PUBLISHED]
    for folder in (Path(name), *(place / name for place in places)):
        if name and folder.is_dir():
            return folder
    known = sorted({path.name for place in places for path in place.glob("*/")})
    raise InputError(f"no tables of {name!r} are published here: {suggestion(name, known)}")


def _write_tables(found: dict[str, pa.Table], output: Path) -> list[Path]:
    folder = output / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in found.items():
        write_csv(table, folder / f"{name}.csv")
    return [folder / f"{name}.csv" for name in found]


def _write_figures(study: Study, output: Path) -> list[Path]:
    folder = output / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for name, chart in figures(study).items():
        pair = folder / f"{name}.svg", folder / f"{name}.png"
        save(chart, *pair)
        files += pair
    return files
