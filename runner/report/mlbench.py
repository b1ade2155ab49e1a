"""mlbench's tables, figures and answers as files, of a study and of the paper's printed numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from runner.errors import InputError, suggestion
from runner.mlbench.answer_tables import answer_tables
from runner.mlbench.answers import answer, sentences
from runner.mlbench.figure_tables import figure_tables
from runner.mlbench.linearity import SMALL_ROWS
from runner.mlbench.prints import Difference, differences
from runner.mlbench.published import read_published
from runner.mlbench.regimes import Thresholds
from runner.mlbench.study import Study
from runner.mlbench.tables import tables
from runner.report.figures import FIGURES, figures
from runner.report.page import Content, of_study, write_page
from runner.report.style import save
from runner.report.table import write_csv

PUBLISHED = Path("results/published")
"""Where the repository keeps printed tables, a folder for each paper."""
"""The page's name in a report's folder."""


@dataclass(frozen=True)
class Choices:
    """What a reader may want otherwise than the paper has it.

    Attributes:
        thresholds: Of the regimes of quality tolerance.
        without: The tasks that figure 1 leaves out one after the other; None for the two that the
            first platform finds hardest, which are the paper's.
        small_rows: Data sets of fewer training rows are small.
    """

    thresholds: Thresholds = field(default_factory=Thresholds)
    without: tuple[str, ...] | None = None
    small_rows: int = SMALL_ROWS


@dataclass(frozen=True)
class Written:
    """A study's outcome, as it was written down.

    Attributes:
        tables: By name, those of the answers among them.
        sentences: The answers in words.
        content: All that, for a page.
        files: All that was written.
    """

    study: Study
    tables: dict[str, pa.Table]
    sentences: list[str]
    content: Content
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Paper(Written):
    """A paper's numbers, computed again and written down.

    Attributes:
        differences: The printed cells that the computed tables don't confirm.
    """

    differences: list[Difference]


def write_published(name: str, output: Path, choices: Choices | None = None) -> Paper:
    """Writes the page, tables, figures and answers that follow from a paper's printed numbers.

    Args:
        name: A folder below results/published, or the path of one like it.
        output: The folder to write into; it is made where it is missing.
        choices: By default the paper's.

    Raises:
        InputError: There is no such folder, it holds something wrong, or the output can't be
            written.
    """
    folder = published_folder(name)
    study = read_published(folder)
    written = write_study(study, output, choices)
    page = write_page(written.content, output)
    return Paper(
        **(written.__dict__ | {"files": (page, *written.files)}),
        differences=differences(study, folder),
    )


def write_study(study: Study, output: Path, choices: Choices | None = None) -> Written:
    """Writes a study's tables to ``output/tables``, its figures to ``output/figures`` and its
    answers to ``output/answers.txt``; tables without rows and figures without points are left out.

    Args:
        study: What was found.
        output: A folder, made where it is missing.
        choices: By default the paper's.

    Raises:
        InputError: A task to leave out isn't there, or a file can't be written.
    """
    choices = choices or Choices()
    _check(study, choices)
    answers = answer(study, small_rows=choices.small_rows)
    found = {
        **tables(study),
        **figure_tables(study, choices.thresholds, choices.without),
        **answer_tables(answers),
    }
    said = sentences(answers)
    try:
        files = [*_write_tables(found, output), *_write_figures(study, output, choices)]
        text = output / "answers.txt"
        text.write_text("".join(f"{sentence}\n\n" for sentence in said), encoding="utf-8")
    except OSError as error:
        raise InputError(f"can't write here: {error.strerror or error}", file=output) from error
    content = of_study(study, found, said, choices.thresholds, choices.without)
    return Written(study, found, said, content, (*files, text))


def published_folder(name: str) -> Path:
    """The folder of a paper's printed tables: below results/ here, in the checkout, or as a wheel
    brings it along.

    Raises:
        InputError: There is none of that name.
    """
    package = Path(__file__).resolve().parents[1]
    places = [PUBLISHED, package.parent / PUBLISHED, package / "published"]
    for folder in (Path(name), *(place / name for place in places)):
        if name and folder.is_dir():
            return folder
    known = sorted({path.name for place in places for path in place.glob("*/")})
    raise InputError(f"no tables of {name!r} are published here: {suggestion(name, known)}")


def _write_tables(found: dict[str, pa.Table], output: Path) -> list[Path]:
    folder = output / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, table in found.items():
        file = folder / f"{name}.csv"
        if len(table):
            write_csv(table, file)
            files.append(file)
        else:
            # Of an earlier report, when there was something to tell.
            file.unlink(missing_ok=True)
    return files


def _check(study: Study, choices: Choices) -> None:
    names = [task.name for task in study.tasks]
    for name in choices.without or ():
        if name not in names:
            raise InputError(f"no task {name!r} to leave out: {suggestion(name, names)}")


def _write_figures(study: Study, output: Path, choices: Choices) -> list[Path]:
    folder = output / "figures"
    drawn = figures(study, thresholds=choices.thresholds, without=choices.without)
    if drawn:
        folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for name in FIGURES:
        pair = folder / f"{name}.svg", folder / f"{name}.png"
        if name in drawn:
            save(drawn[name], *pair)
            files += pair
        else:
            for file in pair:
                file.unlink(missing_ok=True)
    return files
