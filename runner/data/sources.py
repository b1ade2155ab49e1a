"""Where tasks come from, and how they are loaded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from runner.data.task import Task

if TYPE_CHECKING:
    from runner.data.table import Table


@dataclass(frozen=True)
class FileSource:
    """A table in a file (parquet, csv, csv.gz, arff).

    Attributes:
        target: The column that holds the classes.
        positive: The positive class; None for the rarer one of two.
        test: A file of the same columns with the rows for the test score.
        categorical: Columns whose numbers are names, such as the codes of departments.
        row_id: The column that names the rows; it is no feature.
    """

    path: Path
    target: str
    positive: str | None = None
    test: Path | None = None
    categorical: tuple[str, ...] = ()
    row_id: str | None = None


@dataclass(frozen=True)
class BundledSource:
    """A data set that scikit-learn brings along, such as ``breast_cancer``."""

    dataset: str
    positive: str | None = None


@dataclass(frozen=True)
class OpenmlSource:
    """A task of OpenML, with its own folds."""

    number: int
    positive: str | None = None


TaskSource = FileSource | BundledSource | OpenmlSource


def load(source: TaskSource, name: str) -> Task:
    """The task that a source holds.

    Args:
        source: Where it is.
        name: What the study calls it.

    Raises:
        TaskError: For whatever makes it unusable, with the study's key that is at fault.
    """
    # Arrow is imported here: whoever needs only the preparation, as a sandbox does, loads none.
    from runner.data.assembly import assemble

    if isinstance(source, OpenmlSource):
        return _openml(source, name)
    train, test = _tables(source)
    return assemble(
        train,
        test,
        name=name,
        target=_target(source),
        positive=source.positive,
        named_categorical=source.categorical if isinstance(source, FileSource) else (),
        row_id=source.row_id if isinstance(source, FileSource) else None,
    )


def _openml(source: OpenmlSource, name: str) -> Task:
    from runner.data.assembly import assemble
    from runner.data.openml_task import folds_of_all, read_openml

    found = read_openml(source.number)
    task = assemble(found.table, None, name=name, target=found.target, positive=source.positive)
    return replace(task, folds=folds_of_all(found))


def _tables(source: FileSource | BundledSource) -> tuple[Table, Table | None]:
    if isinstance(source, BundledSource):
        from runner.data.bundled import read_bundled

        return read_bundled(source.dataset), None
    from runner.data.files import read

    train = read(source.path, "file")
    return train, None if source.test is None else read(source.test, "test")


def _target(source: FileSource | BundledSource) -> str:
    if isinstance(source, BundledSource):
        from runner.data.bundled import TARGET

        return TARGET
    return source.target
