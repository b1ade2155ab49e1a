"""Takes the rows of one store into another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from runner.store.damage import refusing_damage
from runner.store.reading import read_rows
from runner.store.scan import (
    columns_of,
    create_scan,
    identity,
    places,
    quoted,
    same_row,
    work_connection,
)
from runner.store.tables import Table

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from duckdb import DuckDBPyConnection

_BATCH_ROWS = 10_000


@dataclass(frozen=True)
class Merged:
    """How many rows came into a store.

    Attributes:
        runs: Rows of the table as it is stored, in which a run has several.
        renumbered: Attempts that were there before and got another number.
    """

    attempts: int
    predictions: int
    runs: int
    renumbered: int

    def __add__(self, other: Merged) -> Merged:
        return Merged(
            self.attempts + other.attempts,
            self.predictions + other.predictions,
            self.runs + other.runs,
            self.renumbered + other.renumbered,
        )


def merge_rows(target: Table, source: Table) -> int:
    """Adds the rows of ``runs`` or ``predictions`` that the target lacks; how many these were.

    Of predictions the target's own stay where both stores have a key: they are equal, but for
    what has no seed.
    """
    moment = target.open()
    with refusing_damage(target, source), work_connection() as connection:
        columns = _create_rows(connection, target, moment, source)
        if not columns:
            return 0
        connection.execute(
            f"""
            create table fresh as select min(place) as place from placed
            group by {same_row(target.name, columns)} having min(side) = 1
            """
        )
        added = _count(connection, "fresh")
        if added:
            found = places(
                connection,
                "select filename, file_row_number from placed semi join fresh using (place)",
            )
            target.write(moment, read_rows(target, found), mode="append")
        return added


def merge_attempts(target: Table, source: Table) -> tuple[int, int]:
    """Adds the attempts that the target lacks; how many, and how many got another number.

    The attempts of a key that both stores have are numbered anew, from 1, by the time at which
    they started; those of one store keep their order whatever its clock said. Rows that are equal
    but for that number are one. Where rows of the target get another number, the table is
    written anew in one commit; rows that others append meanwhile stay.
    """
    moment = target.open()
    with refusing_damage(target, source), work_connection() as connection:
        columns = _create_rows(connection, target, moment, source)
        if not columns:
            return 0, 0
        for sql in _NUMBERING:
            connection.execute(
                sql.format(same=identity([name for name in columns if name != "attempt"]))
            )
        added = _count(connection, "numbered where side = 1")
        renumbered = _count(
            connection, "numbered where side = 0 and number is distinct from attempt"
        )
        if added:
            whole = "placed.side = 0 or" if renumbered else ""
            sql = f"""
                select placed.* exclude (filename, file_row_number, side, place) replace (
                    case when numbered.place is null then placed.attempt else numbered.number end
                    as attempt
                )
                from placed left join numbered on placed.place = numbered.place
                where {whole} (placed.side = 1 and numbered.place is not null)
            """
            rows = _stream(connection, sql, target)
            target.write(moment, rows, mode="overwrite" if renumbered else "append")
        return added, renumbered


# `settled` is when an attempt and all before it in its store had started: an order by it never
# turns the attempts of one store round.
_NUMBERING = (
    """
    create table once as
    select side, coalesce(key, '') as key, coalesce(run_id, '') as run_id, attempt, started_at,
        {same} as same, min(place) as place
    from placed
    where side = 1 or coalesce(key, '') in (select coalesce(key, '') from placed where side = 1)
    group by all
    """,
    """
    create table copies as
    select *,
        row_number() over (
            partition by side, key, run_id, same order by attempt nulls first, place
        ) as copy,
        max(started_at) over (
            partition by side, key order by attempt nulls first, started_at nulls first, place
            rows unbounded preceding
        ) as settled
    from once
    """,
    """
    create table fresh as
    select theirs.* from (from copies where side = 1) as theirs
    anti join (from copies where side = 0) as mine using (key, run_id, same, copy)
    """,
    """
    create table numbered as
    select side, place, attempt, cast(
        case when key <> '' and bool_or(side = 0) over (partition by key) then
            row_number() over (
                partition by key order by settled nulls first, side, attempt nulls first, place
            )
        else attempt end as integer
    ) as number
    from (
        from fresh union all
        select mine.* from (from copies where side = 0) as mine semi join fresh using (key)
    )
    """,
)


def _create_rows(
    connection: DuckDBPyConnection, target: Table, moment: DeltaTable, source: Table
) -> list[str]:
    """Makes ``placed``: the rows of both tables, their side (1: the source's) and their place.

    Returns:
        The tables' columns; none where the source has no files.
    """
    theirs = source.files()
    if not theirs:
        return []
    files = [*((0, file) for file in target.files_of(moment)), *((1, file) for file in theirs)]
    create_scan(connection, "found", target.schema, [file for _, file in files])
    rows = (f"({quoted(file)}, {side}, {number})" for number, (side, file) in enumerate(files))
    connection.execute(
        "create table files as select * from "
        f"(values {', '.join(rows)}) as files(filename, side, number)"
    )
    # One number for a place keeps the tables below narrow.
    connection.execute(
        """
        create view placed as
        select found.*, side, cast(number as bigint) * 1099511627776 + file_row_number as place
        from found join files using (filename)
        """
    )
    return columns_of(connection, "found")


def _count(connection: DuckDBPyConnection, rows: str) -> int:
    ((count,),) = connection.execute(f"select count(*) from {rows}").fetchall()
    return int(count)


def _stream(connection: DuckDBPyConnection, sql: str, table: Table) -> pa.RecordBatchReader:
    """The rows of a query, a batch at a time, with the table's types."""
    reader = connection.sql(sql).to_arrow_reader(_BATCH_ROWS)
    schema = pa.schema(
        table.schema.field(field.name) if field.name in table.schema.names else field
        for field in reader.schema
    )

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            yield from pa.Table.from_batches([batch]).cast(schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())
