"""Complete rows of the results tables, from what was planned and what a slot found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from runner.engine.job import Settings
from runner.engine.records import RECORDS
from runner.engine.schedule import Entry
from runner.store.schema import ATTEMPTS, PREDICTIONS

_OF_RECORDS = frozenset(name for name in RECORDS.names if name in ATTEMPTS.names)


def attempt_row(
    entry: Entry, index: int, settings: Settings, found: Mapping[str, Any]
) -> dict[str, Any]:
    """The row of ``attempts`` of one evaluation.

    Args:
        entry: Its job.
        index: Its place in the job.
        settings: The run's.
        found: A row of `RECORDS`, or a part of one.
    """
    evaluation = entry.job.evaluations[index]
    limits = settings.limits
    row = {
        **settings.columns,
        **evaluation.columns,
        **{name: value for name, value in found.items() if name in _OF_RECORDS},
        "key": evaluation.key,
        "attempt": evaluation.attempt + entry.losses,
        "imputed": False,
        "shared_with": len(entry.job.evaluations),
        "cpus": limits.cpus,
        "threads": settings.threads,
        "memory_mib": limits.memory_mib,
        "limit_seconds": limits.seconds,
        "limit_cpu_seconds": limits.cpu_seconds,
        "limit_processes": limits.processes,
        "limit_file_bytes": limits.file_size,
    }
    if settings.fitted:
        enforced = json.loads(row.get("enforced") or "{}")
        row["enforced"] = json.dumps({**enforced, "size": "fitted"}, sort_keys=True)
    return row


def attempts_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as a table of the schema ``ATTEMPTS``; absent columns are null."""
    return pa.Table.from_pylist(list(rows), schema=ATTEMPTS)


def predictions_table(predicted: pa.Table, keys: Mapping[tuple[int, int], str]) -> pa.Table:
    """Predictions by key, of those rows alone that are kept.

    Args:
        predicted: Predictions by job number and index.
        keys: The key of each (number, index) to keep.
    """
    places = zip(predicted["number"].to_pylist(), predicted["index"].to_pylist(), strict=True)
    found = [keys.get(place) for place in places]
    table = predicted.drop_columns(["number", "index"])
    table = table.add_column(0, "key", pa.array(found, pa.string()))
    # What rows are called, the study knows.
    table = table.append_column("ids", pa.nulls(len(table), PREDICTIONS.field("ids").type))
    return table.filter(pc.is_valid(table["key"])).cast(PREDICTIONS)
