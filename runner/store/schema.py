"""The columns of the results tables, a promise to whoever reads them (docs/results.md)."""

from __future__ import annotations

import pyarrow as pa

OUTCOMES = ("ok", "timeout", "memory", "crash", "error", "infra")

_TIME = pa.timestamp("us", tz="UTC")

ATTEMPTS = pa.schema(
    [
        ("key", pa.string()),
        ("run_id", pa.string()),
        ("study", pa.string()),
        ("stage", pa.string()),
        ("task", pa.string()),
        ("task_fingerprint", pa.string()),
        ("system", pa.string()),
        ("configuration", pa.string()),
        ("configuration_id", pa.int32()),
        ("fold", pa.int32()),
        ("repeat", pa.int32()),
        ("seed", pa.int64()),
        ("metric", pa.string()),
        ("score", pa.float64()),
        ("outcome", pa.string()),
        ("reason", pa.string()),
        ("error", pa.string()),
        ("log_tail", pa.string()),
        ("fit_seconds", pa.float64()),
        ("predict_seconds", pa.float64()),
        ("prepare_seconds", pa.float64()),
        ("wall_seconds", pa.float64()),
        ("cpu_seconds", pa.float64()),
        ("user_seconds", pa.float64()),
        ("system_seconds", pa.float64()),
        ("throttled_seconds", pa.float64()),
        ("timed_fits", pa.int32()),
        ("peak_mib", pa.float64()),
        ("baseline_mib", pa.float64()),
        ("oom_kills", pa.int32()),
        ("shared_with", pa.int32()),
        ("cpus", pa.int32()),
        ("threads", pa.int32()),
        ("memory_mib", pa.int32()),
        ("limit_seconds", pa.float64()),
        ("timing", pa.string()),
        ("enforced", pa.string()),
        ("neighbours", pa.float64()),
        ("load", pa.float64()),
        ("node", pa.string()),
        ("machine", pa.string()),
        ("started_at", _TIME),
        ("attempt", pa.int32()),
        ("imputed", pa.bool_()),
        ("versions", pa.string()),
        ("fit_seconds_min", pa.float64()),
        ("limit_cpu_seconds", pa.float64()),
        ("limit_processes", pa.int32()),
        ("limit_file_bytes", pa.int64()),
        ("quiet", pa.bool_()),
        ("governor", pa.string()),
        ("turbo", pa.bool_()),
        ("protocol", pa.string()),
    ]
)

PREDICTIONS = pa.schema(
    [
        ("key", pa.string()),
        ("row_ids", pa.list_(pa.int32())),
        ("classes", pa.list_(pa.string())),
        ("confidences", pa.list_(pa.float32())),
        ("labels", pa.list_(pa.string())),
        ("scores", pa.list_(pa.float64())),
        ("ids", pa.list_(pa.string())),
    ]
)

RUNS = pa.schema(
    [
        ("run_id", pa.string()),
        ("study", pa.string()),
        ("config", pa.string()),
        ("planned_keys", pa.list_(pa.string())),
        ("plan", pa.string()),
        ("command", pa.string()),
        ("started_at", _TIME),
        ("ended_at", _TIME),
        ("outcomes", pa.string()),
        ("versions", pa.string()),
        ("machine", pa.string()),
        ("setting", pa.string()),
        ("config_path", pa.string()),
    ]
)
