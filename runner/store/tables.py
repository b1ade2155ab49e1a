"""One Delta Lake table: make it, append to it, keep it small, say which files hold it."""

from __future__ import annotations

import contextlib
import fcntl
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from runner.errors import InputError, RunnerError

if TYPE_CHECKING:
    from deltalake import DeltaTable

LOG = "_delta_log"

_RETENTION_HOURS = 24
# Vacuum and log clean-up must not take what a reader or a slow writer still looks at.
CONFIGURATION = {
    "delta.deletedFileRetentionDuration": "interval 1 days",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.checkpointInterval": "100",
}
_APPEND_TRIES = 50


class DamageError(InputError):
    """Files of a store that can't be read, and what to do."""

    def __init__(self, what: str, *, file: str):
        super().__init__(
            f"{what}; `runner results check --repair` sets damaged files aside and keeps all rows "
            "that can be read",
            file=file,
        )


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

    @property
    def name(self) -> str:
        """What SQL calls it."""
        return Path(self.uri).name

    @property
    def log(self) -> Path:
        """The folder of its commits."""
        return Path(self.uri, LOG)

    def exists(self) -> bool:
        """Whether there is a table, of whatever schema; its log may be damaged."""
        return any(self.log.glob("*.json")) or any(Path(self.uri).glob("part-*.parquet"))

    def newest(self) -> str:
        """The name of the latest commit, found without reading any; empty where there is none."""
        return max((file.name for file in self.log.glob("*.json")), default="")

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
                self.uri, self.schema, mode="ignore", configuration=dict(CONFIGURATION)
            )
        except (DeltaError, OSError) as error:
            # Another process may have been first.
            if not self.exists():
                raise InputError(
                    f"can't keep results here: {reason(error)}", file=self.uri
                ) from error

    def open(self) -> DeltaTable:
        """The table as it is now.

        Raises:
            DamageError: Its log can't be read.
        """
        from deltalake import DeltaTable

        # The library passes over a commit of no bytes, which a failing power supply leaves.
        empty = [file.name for file in self.log.glob("*.json") if not file.stat().st_size]
        if empty:
            raise DamageError(
                f"the log of this table is damaged ({empty[0]} is empty)", file=self.uri
            )
        try:
            return DeltaTable(self.uri)
        except Exception as error:
            raise DamageError(
                f"the log of this table is damaged ({reason(error)})", file=self.uri
            ) from error

    def stored_schema(self) -> pa.Schema:
        """The columns of the stored table."""
        return pa.schema(self.open().schema())

    def check_schema(self) -> None:
        """Raises InputError where there is a table of something else."""
        if not self.exists():
            return
        fault = self.fault(self.stored_schema())
        if fault is not None:
            raise InputError(
                f"not a results table: {fault}; give a folder that `runner sweep` wrote, or a new "
                "one",
                file=self.uri,
            )

    def fault(self, stored: pa.Schema) -> str | None:
        """What keeps a schema from being this table's, of whatever version; None if nothing."""
        missing = [name for name in self.required if name not in stored.names]
        if missing:
            return f"it has no column {', '.join(missing)}"
        for field in self.schema:
            if field.name in stored.names and not _alike(stored.field(field.name).type, field.type):
                found = stored.field(field.name).type
                return f"its column {field.name} is {found}, it should be {field.type}"
        return None

    def append(self, rows: pa.Table) -> None:
        """Commits rows, which may lack columns (null) and may have them in any order.

        Raises:
            RunnerError: The table is gone. (Delta Lake would quietly begin another one.)
            ValueError: A column that the schema doesn't have, or one that can't be cast to its
                type without loss.
        """
        from deltalake import WriterProperties, write_deltalake
        from deltalake.exceptions import CommitFailedError, DeltaError

        data = self.conform(rows)
        if not self.log.is_dir():
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
            except DeltaError as error:
                self.open()
                raise RunnerError(
                    f"rows can't be written: {reason(error)}", file=self.uri
                ) from error

    def write(
        self,
        moment: DeltaTable,
        rows: pa.RecordBatchReader,
        *,
        mode: Literal["append", "overwrite"],
    ) -> None:
        """Commits rows as they come, without holding them all.

        Args:
            moment: The table as it was when the rows were chosen.
            rows: With the schema's types; columns may be missing.
            mode: ``overwrite``: instead of the rows of that moment. What others have appended
                since stays.
        """
        from deltalake import WriterProperties, write_deltalake

        write_deltalake(
            moment,
            rows,
            mode=mode,
            schema_mode="merge",
            writer_properties=WriterProperties(compression="ZSTD"),
        )

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
        from deltalake.exceptions import DeltaError

        if not self.exists():
            return
        table = self.open()
        try:
            table.optimize.compact(writer_properties=WriterProperties(compression="ZSTD"))
        except (DeltaError, OSError) as error:
            raise RunnerError(
                f"small files can't be merged: {reason(error)}; `runner results check` says "
                "whether one is damaged",
                file=self.uri,
            ) from error
        table.vacuum(
            retention_hours=_RETENTION_HOURS, dry_run=False, enforce_retention_duration=False
        )
        table.create_checkpoint()

    def files(self) -> list[str]:
        """The data files of the table as it is now; none where there is no table."""
        if not self.exists():
            return []
        return self.files_of(self.open())

    def rows_by_file(self) -> dict[str, int | None]:
        """How many rows each data file has, by the log; None where it doesn't say."""
        if not self.exists():
            return {}
        added = pa.table(self.open().get_add_actions(flatten=True))
        counts = added["num_records"].to_pylist()
        names = (path.rpartition("/")[2] for path in added["path"].to_pylist())
        return {f"{self.uri}/{name}": n for name, n in zip(names, counts, strict=True)}

    def files_of(self, moment: DeltaTable) -> list[str]:
        """The data files of the table as it was at a moment."""
        # The library percent-encodes the folder; tables without partitions have flat names.
        names = (uri.rpartition("/")[2] for uri in moment.file_uris())
        return [f"{self.uri}/{name}" for name in names]


def _alike(found: pa.DataType, wanted: pa.DataType) -> bool:
    # The name of a list's items differs between libraries and says nothing.
    if pa.types.is_list(found) and pa.types.is_list(wanted):
        return bool(found.value_type == wanted.value_type)
    return bool(found == wanted)


def reason(error: BaseException) -> str:
    """What an error says in one line, without the trace that Delta Lake appends."""
    text = " ".join(str(error).split("   0: ")[0].split())
    return text or type(error).__name__


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
