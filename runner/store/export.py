"""Writes a view of the store to one file."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from runner.errors import InputError
from runner.store.damage import refusing_damage
from runner.store.scan import identifier, quoted, work_connection
from runner.store.tables import Table
from runner.store.views import create_views

_OPTIONS = {
    # A group by bytes, since predictions have long rows.
    "parquet": "format parquet, compression zstd, row_group_size_bytes '32MB'",
    "csv": "format csv, header",
}


def export_view(table: Table, view: str, path: Path, style: str) -> int:
    """As ``Store.export`` has it.

    Args:
        table: Which holds the view's rows.
    """
    if path.is_dir():
        raise InputError("this is a folder; name a file", file=path)
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}", file=path)
    # Beside the file, so that taking its place is one step.
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        with refusing_damage(table), work_connection() as connection:
            create_views(connection, {table.name: table})
            columns = connection.execute(f"describe {view}").fetchall()
            chosen = ", ".join(_column(name, kind, style) for name, kind, *_ in columns)
            ((rows,),) = connection.execute(
                f"copy (select {chosen} from {view}) to {quoted(str(part))} ({_OPTIONS[style]})"
            ).fetchall()
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return int(rows)


def _column(name: str, kind: str, style: str) -> str:
    quoted_name = identifier(name)
    if style == "csv" and kind.endswith("[]"):
        return f"to_json({quoted_name}) as {quoted_name}"
    return quoted_name
