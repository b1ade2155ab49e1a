"""Sets damaged files of a store aside and keeps every row that can be read."""

from __future__ import annotations

import contextlib
import json
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from runner.errors import InputError
from runner.store.damage import Damage, find_damage, unreadable
from runner.store.recover import add_missing
from runner.store.scan import columns_of, create_scan, identifier, work_connection
from runner.store.tables import CONFIGURATION, LOG, Table

ASIDE = "damaged"
"""The folder in the store that damaged files are moved to."""


@dataclass(frozen=True)
class Repaired:
    """What was done to one table.

    Attributes:
        table: Its name.
        aside: Where the damaged files are now.
        missing: Files that the log named and that aren't there.
        lost: How many rows are gone.
        exact: Whether that is all: where the log was damaged, its rest tells what there was.
    """

    table: str
    aside: tuple[str, ...]
    missing: tuple[str, ...]
    lost: int
    exact: bool


def repair_table(table: Table) -> Repaired | None:
    """Sets the damaged files of a table aside; None where there are none.

    Tables are only appended to, and files that replace others hold the same rows. So a table's
    rows are those of all its files that can be read, each once, whatever the log says: rows that
    a damaged file held are found again in files that it had replaced, as long as these are there.

    Killed at any point and called again it ends alike. Not safe beside a writer.

    Raises:
        InputError: The folder holds files of something else.
    """
    for leftover in Path(table.uri).parent.glob(f".{table.name}-*"):
        shutil.rmtree(leftover)
    faults = list(find_damage(table))
    if not faults:
        return None
    if any(fault.log for fault in faults):
        return _rebuild(table)
    return _drop(table, faults)


def _drop(table: Table, faults: Sequence[Damage]) -> Repaired:
    """Takes unreadable data files out of a table whose log is whole."""
    bad = {fault.file for fault in faults}
    present = [file for file in table.files() if file not in bad]
    others = [file for file in _data_files(table) if file not in bad and file not in present]
    # Rows are found again first: as long as the log names the damaged files, a repair that was
    # killed is begun anew.
    found = add_missing(
        table, table.open(), present, [file for file in others if not unreadable(file, table)]
    )
    aside = _set_aside(table, sorted(bad))
    # Takes out of the log what isn't in the folder.
    table.open().repair()
    return Repaired(
        table=table.name,
        aside=aside,
        missing=tuple(sorted(file for file in bad if not _is_aside(file, aside))),
        lost=max(0, sum(fault.rows or 0 for fault in faults) - found),
        exact=all(fault.rows is not None for fault in faults),
    )


def _rebuild(table: Table) -> Repaired:
    """Makes a table's log anew from its data files."""
    promised = _promised(table)
    files = _data_files(table)
    bad = [file for file in files if unreadable(file, table)]
    for file in bad:
        _refuse_foreign(file, table)
    new, rows = _new_log(table, [file for file in files if file not in bad])
    old = [str(table.log)] if table.log.exists() else []
    aside = _set_aside(table, [*bad, *old])
    new.rename(table.log)
    shutil.rmtree(new.parent)
    return Repaired(
        table=table.name,
        aside=aside,
        missing=tuple(file for file in sorted(promised) if file not in files),
        lost=max(0, sum(promised.values()) - rows),
        exact=False,
    )


def _new_log(table: Table, files: Sequence[str]) -> tuple[Path, int]:
    """A log that names what the files hold, made in another folder, and how many rows it is."""
    from deltalake import DeltaTable

    folder = Path(table.uri).parent / f".{table.name}-{uuid.uuid4().hex}"
    log = DeltaTable.create(
        str(folder), _schema_of(table, files), configuration=dict(CONFIGURATION)
    )
    return folder / LOG, add_missing(table, log, [], files)


def _schema_of(table: Table, files: Sequence[str]) -> pa.Schema:
    """The table's columns, and those of a later version that files have besides."""
    with work_connection() as connection:
        create_scan(connection, "found", table.schema, files)
        names = columns_of(connection, "found")
        later = [identifier(name) for name in names if name not in table.schema.names]
        if not later:
            return table.schema
        none = connection.sql(f"select {', '.join(later)} from found limit 0")
        return pa.schema([*table.schema, *none.to_arrow_table().schema])


def _data_files(table: Table) -> list[str]:
    return sorted(map(str, Path(table.uri).glob("part-*.parquet")))


def _refuse_foreign(file: str, table: Table) -> None:
    from pyarrow import parquet

    with contextlib.suppress(OSError, pa.ArrowException):
        fault = table.fault(parquet.read_schema(file))
        if fault is not None:
            raise InputError(f"this file is no part of a table of results: {fault}", file=file)


def _set_aside(table: Table, paths: Iterable[str]) -> tuple[str, ...]:
    """Moves what is there of these to the folder ``ASIDE``; where it is then."""
    folder = Path(table.uri).parent / ASIDE / table.name
    moved = []
    for path in map(Path, paths):
        if not path.exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / path.name
        if target.exists():
            target = folder / f"{path.name}.{uuid.uuid4().hex[:8]}"
        path.rename(target)
        moved.append(str(target))
    return tuple(moved)


def _is_aside(file: str, aside: Iterable[str]) -> bool:
    return any(Path(path).name.startswith(Path(file).name) for path in aside)


def _promised(table: Table) -> dict[str, int]:
    """The data files that the readable part of a log names, with their rows."""
    added: dict[str, int] = {}
    removed: set[str] = set()
    for action in _actions(table.log):
        if add := action.get("add"):
            stats = json.loads(add.get("stats") or "{}")
            added[f"{table.uri}/{add['path']}"] = stats.get("numRecords", 0)
        if remove := action.get("remove"):
            removed.add(f"{table.uri}/{remove['path']}")
    return {file: rows for file, rows in added.items() if file not in removed}


def _actions(log: Path) -> Iterator[dict[str, Any]]:
    from pyarrow import parquet

    for file in log.glob("*.checkpoint*.parquet"):
        with contextlib.suppress(OSError, pa.ArrowException):
            yield from parquet.read_table(file).to_pylist()
    for file in log.glob("*.json"):
        for line in file.read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                action = json.loads(line)
                if isinstance(action, dict):
                    yield action
