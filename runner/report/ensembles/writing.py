"""A report on ensembles as files, and as something to print."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from runner.ensemble.statistics import rank
from runner.errors import InputError
from runner.mlbench.comparison import compare_scores
from runner.report.ensembles.answers import notes, sentences
from runner.report.ensembles.figures import figures
from runner.report.ensembles.gaps import gaps_of
from runner.report.ensembles.outcome import Outcome
from runner.report.ensembles.page import content
from runner.report.ensembles.tables import tables
from runner.report.page import Content, write_page
from runner.report.style import save
from runner.report.table import write_csv

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True)
class EnsembleReport:
    """What was written and what to print.

    Attributes:
        tables: By the names of their files.
        notes: What a reader of the tables must know.
        sentences: What the numbers say.
        page: All of that as one HTML file.
        files: All that was written.
    """

    run_id: str
    tables: dict[str, pa.Table]
    notes: tuple[str, ...]
    sentences: tuple[str, ...]
    page: Path
    files: tuple[Path, ...]

    @property
    def shown(self) -> pa.Table:
        """For a terminal: the closed gaps side by side, or else the mean scores."""
        return self.tables["table2" if len(self.tables["table2"]) else "scores"]


def write_ensembles(outcome: Outcome, output: Path) -> EnsembleReport:
    """Writes page, tables and figures into a folder, which is made where it is missing.

    Raises:
        InputError: The folder can't be written to.
    """
    gaps = gaps_of(outcome)
    ranking = rank(outcome.contenders)
    comparisons = compare_scores(outcome.contenders)
    found = tables(outcome, gaps, ranking, comparisons)
    noted = notes(outcome)
    said = sentences(outcome, gaps, ranking, comparisons)
    try:
        output.mkdir(parents=True, exist_ok=True)
        text = output / "answers.txt"
        text.write_text("".join(f"{sentence}\n\n" for sentence in said), encoding="utf-8")
        files = [
            text,
            *_write_tables(found, output / "tables"),
            *_write_figures(figures(outcome, ranking), output / "figures"),
        ]
    except OSError as error:
        raise InputError(f"can't write here: {error.strerror or error}", file=output) from error
    page = write_page(content(outcome, found, noted, said, ranking), output)
    return EnsembleReport(
        outcome.run_id, found, tuple(noted), tuple(said), page, files=(page, *files)
    )


def preview_ensembles(outcome: Outcome) -> Content:
    """What the page has of a run that is still going: metatasks, folds, means of whole tasks."""
    found = tables(outcome, None, None, ())
    kept = {name: found[name] for name in ("table1", "scores", "folds")}
    return content(outcome, kept, notes(outcome), (), None)


def _write_tables(found: dict[str, pa.Table], folder: Path) -> list[Path]:
    _emptied(folder, ".csv")
    files = []
    for name, table in found.items():
        if len(table):
            files.append(folder / f"{name}.csv")
            write_csv(table, files[-1])
    return files


def _write_figures(drawn: dict[str, alt.TopLevelMixin], folder: Path) -> list[Path]:
    _emptied(folder, ".svg", ".png")
    files: list[Path] = []
    for name, chart in drawn.items():
        pair = folder / f"{name}.svg", folder / f"{name}.png"
        save(chart, *pair)
        files += pair
    return files


def _emptied(folder: Path, *suffixes: str) -> None:
    """Make a folder, without what an earlier report left there."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        if file.suffix in suffixes:
            file.unlink()
