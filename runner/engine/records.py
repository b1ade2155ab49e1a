"""What a slot tells the driver of finished jobs, as Arrow bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from runner.engine.complaint import complaint
from runner.sandbox import Finding, Result
from runner.store.schema import ATTEMPTS, PREDICTIONS

_MEASURED = (
    "score",
    "outcome",
    "reason",
    "error",
    "log_tail",
    "fit_seconds",
    "predict_seconds",
    "prepare_seconds",
    "fit_seconds_min",
    "wall_seconds",
    "cpu_seconds",
    "user_seconds",
    "system_seconds",
    "throttled_seconds",
    "timed_fits",
    "peak_mib",
    "baseline_mib",
    "oom_kills",
    "enforced",
    "neighbours",
    "load",
    "node",
    "machine",
    "started_at",
    "quiet",
    "governor",
    "turbo",
)
"""The columns of ``attempts`` that only the slot knows; the driver knows the others."""

_PLACE = [pa.field("number", pa.int64()), pa.field("index", pa.int32())]

RECORDS = pa.schema(
    [*_PLACE, pa.field("slot_seconds", pa.float64())] + [ATTEMPTS.field(n) for n in _MEASURED]
)
_PREDICTED = pa.schema(_PLACE + [f for f in PREDICTIONS if f.name not in ("key", "ids")])


@dataclass(frozen=True)
class Circumstances:
    """Where and when a job ran.

    Attributes:
        started_at: When its sandbox was asked for.
        slot_seconds: What it took of the slot's time, waiting and the sandbox's own cost included.
        neighbours: Time average of the other busy sandboxes on the machine.
        load: The machine's one-minute load average at its start.
        enforced: What the limits rested on, sharing of cores included.
        quiet: Whether the machine was quiet; None where nobody waited for that, nor looked how
            fast its cores may run (``governor``, ``turbo``; None also where it doesn't tell).
    """

    started_at: datetime
    slot_seconds: float
    neighbours: float
    load: float
    node: str
    machine: str
    enforced: Mapping[str, str]
    quiet: bool | None = None
    governor: str | None = None
    turbo: bool | None = None


@dataclass(frozen=True)
class JobRecord:
    """One job's result, on its way to the driver."""

    number: int
    result: Result
    circumstances: Circumstances


@dataclass(frozen=True)
class Message:
    """Some jobs' records: rows of `RECORDS`, and predictions where some were kept."""

    rows: bytes
    predictions: bytes | None


def encode(records: Sequence[JobRecord]) -> Message:
    """Pack records for the way to the driver."""
    rows = [row for record in records for row in _rows(record)]
    predicted = [row for record in records for row in _predicted(record)]
    return Message(
        rows=_pack(pa.Table.from_pylist(rows, schema=RECORDS)),
        predictions=_pack(pa.Table.from_pylist(predicted, schema=_PREDICTED))
        if predicted
        else None,
    )


def decode_rows(message: Message) -> list[dict[str, Any]]:
    """The rows as dicts with the columns of `RECORDS`."""
    rows: list[dict[str, Any]] = _unpack(message.rows).to_pylist()
    return rows


def decode_predictions(message: Message) -> pa.Table | None:
    """The predictions, with ``number`` and ``index`` in place of their key."""
    return None if message.predictions is None else _unpack(message.predictions)


def _rows(record: JobRecord) -> list[dict[str, Any]]:
    place, usage = record.circumstances, record.result.usage
    shared = {
        "number": record.number,
        "slot_seconds": place.slot_seconds,
        "log_tail": record.result.log_tail or None,
        "cpu_seconds": usage.cpu_seconds,
        "user_seconds": usage.user_seconds,
        "system_seconds": usage.system_seconds,
        "throttled_seconds": usage.throttled_seconds,
        "peak_mib": usage.peak_mib,
        "baseline_mib": usage.baseline_mib,
        "oom_kills": usage.oom_kills,
        "enforced": json.dumps(dict(place.enforced), sort_keys=True),
        "neighbours": place.neighbours,
        "load": place.load,
        "node": place.node,
        "machine": place.machine,
        "started_at": place.started_at,
        "quiet": place.quiet,
        "governor": place.governor,
        "turbo": place.turbo,
    }
    return [
        {**shared, **_found(finding), "index": index}
        for index, finding in enumerate(record.result.findings)
    ]


def _found(finding: Finding) -> dict[str, Any]:
    found = {
        "outcome": finding.outcome,
        "reason": finding.reason,
        "error": finding.error,
        "wall_seconds": finding.wall_seconds,
    }
    if finding.outcome != "ok":
        return found
    wrong = complaint(finding)
    if wrong is not None:
        return {**found, "outcome": "error", "reason": "record", "error": wrong}
    return {**finding.fields, **found}


def _predicted(record: JobRecord) -> list[dict[str, Any]]:
    return [
        {
            "number": record.number,
            "index": index,
            "row_ids": finding.predictions["row_ids"],
            "classes": finding.predictions["classes"].tolist(),
            "confidences": finding.predictions["confidences"].ravel(),
            "labels": finding.predictions["labels"].tolist(),
            "scores": finding.predictions.get("scores"),
        }
        for index, finding in enumerate(record.result.findings)
        if finding.predictions is not None
        and finding.outcome == "ok"
        and complaint(finding) is None
    ]


def _pack(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _unpack(packed: bytes) -> pa.Table:
    return pa.ipc.open_stream(packed).read_all()
