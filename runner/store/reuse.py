"""Which stored rows spare a run its computing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from runner.store.key import STEM_DIGITS
from runner.store.views import Views


@dataclass(frozen=True)
class Stale:
    """Rows that would serve had they been made with the versions of now.

    Attributes:
        versions: The rows' own, JSON.
        rows: How many planned keys they would serve.
    """

    system: str
    versions: str
    rows: int


@dataclass(frozen=True)
class Reuse:
    """What a run finds in the store.

    Attributes:
        served: For each planned key that needs no computing the key of the row that serves: the
            same, or one made with other versions where that was accepted.
        outcomes: The outcome of each row that serves, by planned key.
        scores: Its score, likewise.
        attempts: The number that the next attempt of a planned key gets, where it isn't 1.
        stale: What versions alone keep from serving.
    """

    served: Mapping[str, str]
    outcomes: Mapping[str, str]
    scores: Mapping[str, float | None]
    attempts: Mapping[str, int]
    stale: tuple[Stale, ...]


# An ok row fits where it kept within the limits asked for, or had no more to keep within: the
# latter for rows without a measurement, and since a clock read from outside may show a little
# more than the limit it was held to. Nobody counts processes or the bytes of files, so that there
# the limit alone tells. What a limit ended says nothing of larger ones. A row without a score, of
# test rows without labels, is nothing without its predictions.
_JUDGED = """
select key, outcome, score, system, versions, started_at, run_id,
    outcome not in (select unnest($rerun)) and coalesce(case
        when outcome = 'ok' then
            (wall_seconds <= $seconds or limit_seconds <= $seconds
                or (wall_seconds is null and limit_seconds is null))
            and (peak_mib <= $memory or memory_mib <= $memory
                or (peak_mib is null and memory_mib is null))
            and ($cpu is null or cpu_seconds <= $cpu or limit_cpu_seconds <= $cpu)
            and ($processes is null or limit_processes <= $processes)
            and ($file is null or limit_file_bytes <= $file)
            and ((not $predictions and score is not null) or key in (select key from predictions))
        when outcome = 'memory' then memory_mib >= $memory
        when outcome = 'timeout' and reason = 'cpu' then limit_cpu_seconds >= $cpu
        when outcome = 'timeout' then limit_seconds >= $seconds
        when outcome = 'infra' then false
        when reason = 'processes' then limit_processes >= $processes
        when reason = 'file-size' then limit_file_bytes >= $file
        else outcome in ('crash', 'error')
    end, false) as serves
from evaluations
"""

_OWN = f"select key, outcome, score from ({_JUDGED}) semi join planned using (key) where serves"

_NEXT_ATTEMPT = """
select key, cast(max(attempt) + 1 as integer) as next
from attempts semi join planned using (key)
group by key having max(attempt) is not null
"""

# Among rows of several versions the one computed last.
_OTHER_VERSIONS = f"""
select unserved.key, judged.key as stored, outcome, score, system, versions
from unserved join ({_JUDGED}) as judged
on left(unserved.key, {STEM_DIGITS}) = left(judged.key, {STEM_DIGITS})
    and unserved.key <> judged.key
where serves
qualify row_number() over (
    partition by unserved.key
    order by started_at desc nulls last, run_id desc nulls last, judged.key
) = 1
"""


def plan_reuse(
    views: Views,
    planned: Sequence[str],
    limits: Mapping[str, float | None],
    *,
    rerun: Collection[str] = (),
    accept_versions: bool = False,
    predictions: bool = False,
) -> Reuse:
    """What of the planned keys the stored rows serve; arguments as ``Store.served`` has them.

    Args:
        limits: Those asked for: ``seconds``, ``memory`` (MiB), ``cpu`` (seconds), ``processes``,
            ``file`` (bytes); None for none.
    """
    wanted = pa.table({"key": pa.array(planned, pa.string())})
    asked = {
        **limits,
        "rerun": sorted(rerun),
        "predictions": predictions,
    }
    own = views.select(_OWN, asked, planned=wanted)
    served = {key: key for key in own["key"].to_pylist()}
    outcomes, scores = _pairs(own, "key", "outcome"), _pairs(own, "key", "score")
    unserved = pa.table({"key": pa.array((k for k in planned if k not in served), pa.string())})
    others = views.select(_OTHER_VERSIONS, asked, unserved=unserved)
    if accept_versions:
        served |= _pairs(others, "key", "stored")
        outcomes |= _pairs(others, "key", "outcome")
        scores |= _pairs(others, "key", "score")
        others = others.slice(0, 0)
    following = views.select(_NEXT_ATTEMPT, {}, planned=wanted)
    return Reuse(served, outcomes, scores, _pairs(following, "key", "next"), _stale(others))


def _stale(rows: pa.Table) -> tuple[Stale, ...]:
    groups = rows.group_by(["system", "versions"]).aggregate([([], "count_all")])
    found = [
        Stale(row["system"] or "", row["versions"] or "", row["count_all"])
        for row in groups.to_pylist()
    ]
    return tuple(sorted(found, key=lambda stale: (stale.system, stale.versions)))


def _pairs(table: pa.Table, key: str, value: str) -> dict[str, Any]:
    return dict(zip(table[key].to_pylist(), table[value].to_pylist(), strict=True))
