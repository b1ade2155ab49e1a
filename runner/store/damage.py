"""Files of a table that can't be read."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from runner.errors import RunnerError
from runner.store.reading import batch_rows
from runner.store.tables import DamageError, Table, reason

_COMMIT = re.compile(r"\d{20}\.json")
_CHECKPOINT = re.compile(r"\d{20}\.checkpoint\..*parquet")
_HINT = "_last_checkpoint"


@dataclass(frozen=True)
class Damage:
    """A file that can't be read.

    Attributes:
        table: The table's name.
        file: The file, or the log's folder where that as a whole is at fault.
        why: What is wrong with it.
        log: Whether it is of the table's log, without which nobody knows its data files.
        rows: How many rows it held, by the log; None where that doesn't say.
    """

    table: str
    file: str
    why: str
    log: bool = False
    rows: int | None = None

    @property
    def text(self) -> str:
        """What a message says of it."""
        return f"unreadable file ({self.why})"


def find_damage(table: Table) -> Iterator[Damage]:
    """The unreadable files of a table: of its log, or if that is whole its data files.

    Reads all of them, which takes seconds for a million rows. Nothing where there is no table.
    """
    if not table.exists():
        return
    faults = list(_log_damage(table))
    yield from faults or _data_damage(table)


def raise_damage(tables: Iterable[Table], error: BaseException) -> None:
    """Raises DamageError where a file of the tables is what an error came of."""
    for table in tables:
        for found in find_damage(table):
            raise DamageError(found.text, file=found.file) from error


@contextlib.contextmanager
def refusing_damage(*tables: Table) -> Iterator[None]:
    """Within it an error that comes of a damaged file says so.

    Raises:
        DamageError: A file can't be read.
        RunnerError: Something else kept rows from being read or written, such as a full disk.
    """
    import duckdb
    from deltalake.exceptions import DeltaError

    try:
        yield
    except (duckdb.Error, DeltaError, pa.ArrowException) as error:
        raise_damage(tables, error)
        raise RunnerError(reason(error), file=tables[0].uri) from error


def unreadable(file: str, table: Table) -> str | None:
    """Why a data file can't be read as rows of a table; None where it can."""
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(file, pre_buffer=False) as content:
            fault = table.fault(content.schema_arrow)
            if fault is None:
                for _ in content.iter_batches(batch_rows(content.metadata)):
                    pass
    except (OSError, pa.ArrowException) as error:
        return reason(error)
    return fault


def _log_damage(table: Table) -> Iterator[Damage]:
    log = str(table.log)
    if not any(_COMMIT.fullmatch(file.name) for file in table.log.glob("*.json")):
        yield Damage(table.name, log, "the table's log is missing", log=True)
        return
    found = [
        Damage(table.name, str(file), why, log=True)
        for file in sorted(table.log.iterdir())
        if (why := _log_file_fault(file))
    ]
    if not found:
        try:
            table.files()
        except DamageError as error:
            found = [Damage(table.name, log, reason(error.__cause__ or error), log=True)]
    yield from found


def _log_file_fault(file: Path) -> str | None:
    from pyarrow import parquet

    try:
        if _COMMIT.fullmatch(file.name) or file.name == _HINT:
            lines = file.read_text().splitlines()
            if not lines:
                return "it is empty"
            for line in lines:
                json.loads(line)
        elif _CHECKPOINT.fullmatch(file.name):
            parquet.read_table(file)
    except FileNotFoundError:
        # A log's old files are removed while it is in use.
        return None
    except (OSError, ValueError, pa.ArrowException) as error:
        return reason(error)
    return None


def _data_damage(table: Table) -> Iterator[Damage]:
    rows = table.rows_by_file()
    for file, count in rows.items():
        why = unreadable(file, table)
        if why is not None:
            yield Damage(table.name, file, why, rows=count)
