"""The tables as DuckDB sees them: views over the files of one moment, and nothing else."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from runner.errors import InputError
from runner.store.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
    """A DuckDB connection with views ``attempts``, ``evaluations``, ``predictions``, ``runs``.

    A context manager. Its SQL can read the store's files of the moment it was made, and write
    nothing.
    """

    def __init__(self, attempts: Table, predictions: Table, runs: Table):
        import duckdb

        self._connection = duckdb.connect(":memory:")
        # Timestamps are stored in UTC; without this they'd be shown in the reader's zone.
        self._connection.execute("set TimeZone = 'UTC'")
        files = [
            *self._view("attempts", attempts),
            *self._view("predictions", predictions),
            *self._view("_run_rows", runs),
        ]
        self._connection.execute(_EVALUATIONS)
        self._connection.execute(_runs_view(self.columns("_run_rows")))
        self._lock(files)

    def __enter__(self) -> Views:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._connection.close()

    def query(self, sql: str) -> pa.Table:
        """The result of one SELECT; InputError where it is wrong or something else."""
        import duckdb

        try:
            statements = self._connection.extract_statements(sql)
            if len(statements) != 1:
                raise InputError(f"one SELECT is wanted, not {len(statements)} statements")
            # The files readable here could be overwritten by COPY, hence no other statement. A
            # PIVOT counts as several.
            allowed = (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI)
            if statements[0].type not in allowed:
                raise InputError(f"only SELECT is possible, not {statements[0].type.name}")
            return self._connection.sql(statements[0]).to_arrow_table()
        except duckdb.Error as error:
            raise InputError(_one_line(str(error))) from error

    def select(self, sql: str, parameters: Mapping[str, Any], **tables: pa.Table) -> pa.Table:
        """The result of our own SQL, which may name parameters and further Arrow tables."""
        for name, table in tables.items():
            self._connection.register(name, table)
        try:
            return self._connection.sql(sql, params=dict(parameters)).to_arrow_table()
        finally:
            for name in tables:
                self._connection.unregister(name)

    def columns(self, view: str) -> list[str]:
        """The names of a view's columns."""
        return [row[0] for row in self._connection.execute(f"describe {view}").fetchall()]

    def _view(self, name: str, table: Table) -> list[str]:
        stored = table.stored_schema() if table.exists() else pa.schema([])
        files = table.files() if table.exists() else []
        empty = table.schema.empty_table()
        self._connection.register("_empty", empty)
        self._connection.execute(f"create table _{name}_columns as select * from _empty")
        self._connection.unregister("_empty")
        # `union all by name` gives a table without files its columns, and one of an older version
        # the columns that it lacks, with their types.
        source = f"select * from _{name}_columns"
        if files:
            known = ", ".join(f'"{column}"' for column in stored.names)
            paths = ", ".join(_quoted(path) for path in files)
            source += (
                f" union all by name select {known}"
                f" from read_parquet([{paths}], union_by_name = true)"
            )
        self._connection.execute(f"create view {name} as {source}")
        return files

    def _lock(self, files: Iterable[str]) -> None:
        paths = ", ".join(_quoted(path) for path in files)
        for setting in (
            f"allowed_paths = [{paths}]",
            "enable_external_access = false",
            "python_enable_replacements = false",
            "lock_configuration = true",
        ):
            self._connection.execute(f"set {setting}")


def _runs_view(columns: list[str]) -> str:
    picked = ", ".join(
        f"{_ONE_RUN.get(name, f'any_value({name})')} as {name}"
        for name in columns
        if name != "run_id"
    )
    return f"create view runs as select run_id, {picked} from _run_rows group by run_id"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# DuckDB's messages go on with the query and a caret below it.
def _one_line(message: str) -> str:
    return " ".join(message.split("\nLINE ")[0].split())
