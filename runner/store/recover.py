"""Finds rows in data files that a table doesn't name, and has it name them."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from runner.store.reading import read_rows
from runner.store.scan import (
    columns_of,
    create_scan,
    places,
    quoted,
    quoted_list,
    same_row,
    work_connection,
)
from runner.store.tables import Table

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from duckdb import DuckDBPyConnection


def add_missing(
    table: Table, log: DeltaTable, present: Sequence[str], others: Sequence[str]
) -> int:
    """Has a log name what the files ``others`` have and ``present`` lack.

    Each row is taken once. Files all of whose rows are new are named as they are; of the rest the
    new rows go into one more file.

    Args:
        table: Whose files they are.
        log: Where they get named: the table's, or one made in another folder to become it.
        present: Files that the log names.
        others: Files in the table's folder.

    Returns:
        How many rows these are.
    """
    from deltalake.transaction import AddAction, RemoveAction

    if not others:
        return 0
    with work_connection() as connection:
        create_scan(connection, "found", table.schema, [*present, *others])
        _rank(connection, table, [*present, *others], len(present))
        counts = connection.execute(
            "select filename, count(*), count(*) filter (rank = 1) from ranked "
            f"where filename in ({quoted_list(others)}) group by 1 order by 1"
        ).fetchall()
        added = {file: rows for file, rows, new in counts if new == rows}
        parts = {file: new for file, rows, new in counts if 0 < new < rows}
        if parts:
            added[_write_new_rows(connection, table, parts)] = sum(parts.values())
    now = int(time.time() * 1000)
    actions: list[AddAction | RemoveAction] = [
        AddAction(
            Path(file).name, os.path.getsize(file), {}, now, True, json.dumps({"numRecords": rows})
        )
        for file, rows in added.items()
    ]
    if actions:
        log.create_write_transaction(actions, mode="append", schema=log.schema())
    return sum(added.values())


def _rank(connection: DuckDBPyConnection, table: Table, files: Sequence[str], present: int) -> None:
    """Makes ``ranked``: each row's place, and 1 for the one to keep among equal rows.

    That is one of the first ``present`` files, else one of the largest: a merge of the others.
    """
    rows = [
        f"({quoted(file)}, {0 if index < present else 1}, {os.path.getsize(file)})"
        for index, file in enumerate(files)
    ]
    connection.execute(
        "create table files as select * from "
        f"(values {', '.join(rows)}) as files(filename, side, size)"
    )
    same = same_row(table.name, columns_of(connection, "found"))
    connection.execute(
        f"""
        create table ranked as
        select filename, file_row_number, row_number() over (
            partition by {same} order by side, size desc, filename, file_row_number
        ) as rank
        from found join files using (filename)
        """
    )


def _write_new_rows(connection: DuckDBPyConnection, table: Table, files: Iterable[str]) -> str:
    from pyarrow import parquet

    path = f"{table.uri}/part-{uuid.uuid4()}.parquet"
    new = f"from ranked where rank = 1 and filename in ({quoted_list(list(files))})"
    rows = read_rows(table, places(connection, new))
    with parquet.ParquetWriter(path, rows.schema, compression="zstd") as file:
        for batch in rows:
            file.write_batch(batch)
    return path
