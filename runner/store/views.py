"""The tables as DuckDB sees them: views over the files of one moment, and nothing else."""

from __future__ import annotations

import contextlib
import itertools
from types import TracebackType
from typing import TYPE_CHECKING

import pyarrow as pa

from runner.errors import InputError
from runner.store.damage import raise_damage
from runner.store.scan import columns_of, create_scan, quoted_list
from runner.store.tables import DamageError, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb
    from duckdb import DuckDBPyConnection, Statement

# One row a key. Infra says nothing of the evaluation, so any other outcome comes before it.
_EVALUATIONS = """
create view evaluations as
select * exclude (_rank) from (
    select *, row_number() over (
        partition by key
        order by outcome is not distinct from 'infra', attempt desc nulls last,
            started_at desc nulls last, run_id desc nulls last
    ) as _rank
    from attempts
) where _rank = 1
"""

# A run has a row at its start, one for each extension, one at its end; the columns of one are
# null in the others.
_ONE_RUN = {
    "planned_keys": "coalesce(flatten(list(planned_keys order by started_at nulls last)"
    " filter (where planned_keys is not null)), [])",
    "ended_at": "max(ended_at)",
    "outcomes": "arg_max(outcomes, ended_at)",
}


class Views:
    """A DuckDB connection in which the tables are views.

    A context manager. Its SQL can read the store's files of the moment it was made, and write
    nothing. With ``attempts`` there is ``evaluations`` too.

    Args:
        tables: From ``attempts``, ``predictions``, ``runs``, by name.
        files: The files that are read of each table, by name; by default those of this moment.

    Raises:
        DamageError: A file can't be read.
    """

    def __init__(
        self, tables: Mapping[str, Table], files: Mapping[str, Sequence[str]] | None = None
    ):
        import duckdb

        self._tables = tables
        self._connection = duckdb.connect(":memory:")
        # Timestamps are stored in UTC; without this they'd be shown in the reader's zone.
        self._connection.execute("set TimeZone = 'UTC'")
        readable = create_views(self._connection, tables, files)
        self._lock(readable)

    def __enter__(self) -> Views:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._connection.close()

    def query(self, sql: str, parameters: Mapping[str, object]) -> pa.Table:
        """The result of one SELECT; InputError where it is wrong or something else."""
        import duckdb

        try:
            statements = self._connection.extract_statements(sql)
            if len(statements) != 1:
                raise InputError(f"one SELECT is wanted, not {len(statements)} statements")
            # The files readable here could be overwritten by COPY, hence no other statement: no
            # MULTI either, which a PIVOT is and a COPY of one too.
            if statements[0].type != duckdb.StatementType.SELECT:
                raise InputError(f"only SELECT is possible, not {statements[0].type.name}")
            return _distinct(_narrow(self._result(statements[0], parameters)))
        except duckdb.Error as error:
            self._refuse_damage(error)
            raise InputError(_one_line(str(error))) from error

    def select(self, sql: str, parameters: Mapping[str, object], **tables: pa.Table) -> pa.Table:
        """The result of our own SQL, which may name parameters and further Arrow tables."""
        import duckdb

        for name, table in tables.items():
            self._connection.register(name, table)
        try:
            return self._result(sql, parameters)
        except duckdb.Error as error:
            self._refuse_damage(error)
            raise
        finally:
            for name in tables:
                self._connection.unregister(name)

    def _result(self, sql: str | Statement, parameters: Mapping[str, object]) -> pa.Table:
        return self._connection.sql(sql, params=dict(parameters)).to_arrow_table()

    def _refuse_damage(self, error: duckdb.Error) -> None:
        """Raises DamageError where an error may be a file's fault and is."""
        import duckdb

        of_the_query = (
            duckdb.ParserException,
            duckdb.SyntaxException,
            duckdb.BinderException,
            duckdb.CatalogException,
            duckdb.ConversionException,
            duckdb.OutOfRangeException,
            duckdb.OutOfMemoryException,
            duckdb.PermissionException,
        )
        if isinstance(error, of_the_query):
            return
        raise_damage(self._tables.values(), error)

    def _lock(self, files: Sequence[str]) -> None:
        for setting in (
            f"allowed_paths = [{quoted_list(files)}]",
            "enable_external_access = false",
            "python_enable_replacements = false",
            "lock_configuration = true",
        ):
            self._connection.execute(f"set {setting}")


def create_views(
    connection: DuckDBPyConnection,
    tables: Mapping[str, Table],
    files: Mapping[str, Sequence[str]] | None = None,
) -> list[str]:
    """Makes the views of :class:`Views` in a connection; the files that they read."""
    import duckdb

    # Out of the way of `show tables`.
    connection.execute("create schema stored")
    readable: list[str] = []
    for name, table in tables.items():
        read = table.files() if files is None else files[name]
        try:
            create_scan(connection, f"stored.{name}", table.schema, read)
        except duckdb.Error as error:
            raise DamageError(_one_line(str(error)), file=table.uri) from error
        connection.execute(_VIEWS[name](columns_of(connection, f"stored.{name}")))
        readable += read
    if "attempts" in tables:
        connection.execute(_EVALUATIONS)
    return readable


def _attempts_view(columns: list[str]) -> str:
    return (
        "create view attempts as select * exclude (filename, file_row_number) from stored.attempts"
    )


# A key computed twice has its predictions twice, equal but for what has no seed. Picking the rows
# by their place reads nothing but keys beforehand: the lists are large.
def _predictions_view(columns: list[str]) -> str:
    return f"""
        create view predictions as
        select * exclude (filename, file_row_number) from stored.predictions
        where (filename, file_row_number) in (
            select (filename, file_row_number) from ({predictions_places()})
        )
    """


def predictions_places(condition: str = "true") -> str:
    """SQL for the places of the rows that the view of predictions has.

    Args:
        condition: On their keys, in SQL.
    """
    return f"""
        select place[1] as filename, place[2] as file_row_number from (
            select max((filename, file_row_number)) as place
            from stored.predictions where {condition} group by key
        )
    """


def _runs_view(columns: list[str]) -> str:
    picked = []
    for name in columns:
        if name != "run_id":
            value = _ONE_RUN.get(name, f'any_value("{name}")')
            picked.append(f'{value} as "{name}"')
    return (
        f"create view runs as select run_id, {', '.join(picked)} from stored.runs group by run_id"
    )


_VIEWS = {"attempts": _attempts_view, "predictions": _predictions_view, "runs": _runs_view}


# DuckDB sums integers in 128 bits, which reach Arrow as decimals: unfit for JSON.
def _narrow(table: pa.Table) -> pa.Table:
    for index, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type) and field.type.scale == 0:
            with contextlib.suppress(pa.ArrowInvalid):
                column = table.column(index).cast(pa.int64())
                table = table.set_column(index, field.name, column)
    return table


# As a dict a row would lose all but one column of a name; DuckDB's own tables number them so, too.
def _distinct(table: pa.Table) -> pa.Table:
    names: list[str] = []
    for name in table.column_names:
        candidates = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(1)))
        names.append(next(candidate for candidate in candidates if candidate not in names))
    return table.rename_columns(names)


# DuckDB's messages go on with the query and a caret below it.
def _one_line(message: str) -> str:
    return " ".join(message.split("\nLINE ")[0].split())
