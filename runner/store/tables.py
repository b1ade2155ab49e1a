"""One Delta Lake table: make it, append to it, keep it small, say which files hold it."""

from __future__ import annotations

import contextlib
import fcntl
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from runner.errors import InputError, RunnerError

if TYPE_CHECKING:
    from deltalake import DeltaTable

_RETENTION_HOURS = 24
# Vacuum and log clean-up must not take what a reader or a slow writer still looks at.
_CONFIGURATION = {
    "delta.deletedFileRetentionDuration": "interval 1 days",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.checkpointInterval": "100",
}
_APPEND_TRIES = 50


@dataclass(frozen=True)
class Table:
    """A table of the store.

    Attributes:
        uri: Its folder.
        schema: The columns as this version knows them. A stored table may lack later ones, and
            may have ones of a version yet to come.
        required: Columns without which a table is something else.
    """

    uri: str
    schema: pa.Schema
    required: tuple[str, ...]

    def exists(self) -> bool:
        """Whether there is a Delta table, of whatever schema."""
        from deltalake import DeltaTable

        return bool(DeltaTable.is_deltatable(self.uri))

    def create(self) -> None:
        """Makes the table unless it is there; processes doing so at once all succeed.

        Raises:
            InputError: It can't be made here.
        """
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        if self.exists():
            return
        try:
            DeltaTable.create(
                self.uri, self.schema, mode="ignore", configuration=dict(_CONFIGURATION)
            )
        except (DeltaError, OSError) as error:
            # Another process may have been first.
            if not self.exists():
                reason = " ".join(str(error).split())
                raise InputError(f"can't keep results here: {reason}", file=self.uri) from error

    def open(self) -> DeltaTable:
        """The table as it is now."""
        from deltalake import DeltaTable

        return DeltaTable(self.uri)

    def stored_schema(self) -> pa.Schema:
        """The columns of the stored table."""
        return pa.schema(self.open().schema())

    def check_schema(self) -> None:
        """Raises InputError where there is a table of something else."""
        if not self.exists():
            return
        stored = self.stored_schema()
        missing = [name for name in self.required if name not in stored.names]
        if missing:
            raise InputError(
                f"not a results table: it has no column {', '.join(missing)}; give a folder that "
                "`runner sweep` wrote, or a new one",
                file=self.uri,
            )
        for name in stored.names:
            if (
                name in self.schema.names
                and stored.field(name).type != self.schema.field(name).type
            ):
                raise InputError(
                    f"not a results table: its column {name} is {stored.field(name).type}, "
                    f"it should be {self.schema.field(name).type}",
                    file=self.uri,
                )

    def append(self, rows: pa.Table) -> None:
        """Commits rows, which may lack columns (null) and may have them in any order.

        Raises:
            RunnerError: The table is gone. (Delta Lake would quietly begin another one.)
            ValueError: A column that the schema doesn't have, or one that can't be cast to its
                type without loss.
        """
        from deltalake import WriterProperties, write_deltalake
        from deltalake.exceptions import CommitFailedError

        data = self.conform(rows)
        if not Path(self.uri, "_delta_log").is_dir():
            raise RunnerError("the results are gone: somebody removed them", file=self.uri)
        for attempt in range(_APPEND_TRIES):
            try:
                write_deltalake(
                    self.uri,
                    data,
                    mode="append",
                    schema_mode="merge",
                    writer_properties=WriterProperties(compression="ZSTD"),
                )
                return
            except CommitFailedError:
                # Appends conflict only where two processes add a column at once or the library
                # has run out of retries: the next try sees the other's commit.
                if attempt == _APPEND_TRIES - 1:
                    raise
                time.sleep(random.uniform(0.01, 0.1))

    def conform(self, rows: pa.Table) -> pa.Table:
        """Rows with the schema's columns, types and order. Raises as :meth:`append` does."""
        unknown = [name for name in rows.column_names if name not in self.schema.names]
        if unknown:
            raise ValueError(f"unknown columns: {', '.join(unknown)}")
        columns = [
            rows.column(field.name).cast(field.type)
            if field.name in rows.column_names
            else pa.nulls(len(rows), field.type)
            for field in self.schema
        ]
        return pa.table(columns, schema=self.schema)

    def compact(self) -> None:
        """Merges small files and the log.

        Safe beside writers and readers, but not beside another that compacts: deltalake 1.6
        rebases a merge onto another merge of the same files, even when told not to retry, and
        then every row is there twice. Hence :func:`alone`.
        """
        from deltalake import WriterProperties

        if not self.exists():
            return
        table = self.open()
        table.optimize.compact(writer_properties=WriterProperties(compression="ZSTD"))
        table.vacuum(
            retention_hours=_RETENTION_HOURS, dry_run=False, enforce_retention_duration=False
        )
        table.create_checkpoint()

    def files(self) -> list[str]:
        """The data files of the table as it is now; none where there is no table."""
        if not self.exists():
            return []
        # The library percent-encodes the folder; tables without partitions have flat names.
        names = (uri.rpartition("/")[2] for uri in self.open().file_uris())
        return [f"{self.uri}/{name}" for name in names]


@contextlib.contextmanager
def alone(folder: str) -> Iterator[bool]:
    """Whether nobody else holds this folder's lock, which is held until the context ends.

    A file system without locks counts as held by somebody else.
    """
    with open(f"{folder}/.compacting", "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
