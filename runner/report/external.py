"""Scores that a competition gave back for submissions: entered by hand, marked as such."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from runner.errors import InputError, suggestion
from runner.report.summary import summary
from runner.store import ATTEMPTS, Run, Store, key

EXTERNAL = "external"
"""The stage of such rows."""


@dataclass(frozen=True)
class Entered:
    """A score that is now in the store.

    Attributes:
        replaced: The score that it replaces; None where there was none.
        labelled: Whether the task's test rows have labels, so that there is a computed score too.
    """

    task: str
    system: str
    configuration_id: int
    configuration: str
    score: float
    replaced: float | None
    labelled: bool = False


# Of a pair's configurations the latest row each: what is called by this name now.
_KNOWN = """
select * from (
    select task, system, study, task_fingerprint, configuration, configuration_id, seed, metric,
        versions, started_at, count(*) filter (outcome = 'ok' and stage = 'cv') over (
            partition by task, system, configuration
        ) as ok
    from evaluations where stage <> 'external'
    qualify row_number() over (
        partition by task, system, configuration order by started_at desc nulls last
    ) = 1
)
"""


_LABELLED = """
select count(*) > 0 as labelled from evaluations
where task = $task and stage = 'test' and score is not null
"""


def enter_score(
    store: Store,
    task: str,
    system: str,
    score: float,
    *,
    configuration_id: int | None = None,
    command: str = "",
    machine: str = "{}",
) -> Entered:
    """Records a score that somebody else computed; one entered before is replaced.

    It becomes a row of stage ``external``, with neither times nor limits, of a run of its own
    that planned nothing.

    Args:
        store: Where the system's results on the task are.
        task: By its name.
        system: By its name.
        score: The AUC.
        configuration_id: Of the configuration that was submitted; by default the one that the
            latest run selected.
        command: As it was typed, for the table of runs.
        machine: The machine it was typed on, likewise.

    Raises:
        InputError: The store has no such task, system or configuration, none is selected, none of
            its evaluations is ok, or the score is none; or it can't be written to.
    """
    if not (math.isfinite(score) and 0 <= score <= 1):
        raise InputError(f"an AUC is a number from 0 to 1, not {score}")
    store.require_writable()
    known = _find(store, task, system, configuration_id)
    names = ("task_fingerprint", "system", "configuration", "metric")
    own_key = key({"stage": EXTERNAL, **{name: known[name] for name in names}}, {})
    before = store.query(
        "select attempt, score from evaluations where key = $key", {"key": own_key}
    ).to_pylist()
    now = datetime.now(UTC)
    run_id = uuid.uuid4().hex
    store.begin_run(
        Run(run_id, known["study"], "", (), command, now, {"runner": version("runner")}, machine)
    )
    row = {
        **known,
        "key": own_key,
        "run_id": run_id,
        "stage": EXTERNAL,
        "repeat": 0,
        "score": score,
        "outcome": "ok",
        "started_at": now,
        "attempt": 1 + max((found["attempt"] or 0 for found in before), default=0),
        "imputed": False,
    }
    schema = pa.schema([field for field in ATTEMPTS if field.name in row])
    store.append(pa.Table.from_pylist([row], schema=schema))
    store.end_run(run_id, datetime.now(UTC), {"ok": 1})
    return Entered(
        task=task,
        system=system,
        configuration_id=known["configuration_id"],
        configuration=known["configuration"],
        score=score,
        replaced=before[0]["score"] if before else None,
        labelled=store.query(_LABELLED, {"task": task})["labelled"][0].as_py(),
    )


def _find(store: Store, task: str, system: str, configuration_id: int | None) -> Mapping[str, Any]:
    """The columns of what was submitted, as the store's latest row of it has them."""
    rows = store.query(_KNOWN).to_pylist()
    rows = _only(rows, "task", task, store, "the results have no task")
    rows = _only(rows, "system", system, store, f"there are no results on {task} of")
    if configuration_id is None:
        chosen = _selected(store, task, system)
        found = [row for row in rows if row["configuration"] == chosen]
    else:
        found = [row for row in rows if row["configuration_id"] == configuration_id]
    if not found:
        ids = sorted(row["configuration_id"] for row in rows)
        raise InputError(
            f"{system} has no results on {task} for configuration {configuration_id}: its "
            f"{len(ids)} are numbered from {ids[0]} to {ids[-1]}",
            file=store.path,
        )
    known = max(found, key=lambda row: row["started_at"])
    if not known["ok"]:
        raise InputError(
            f"no evaluation of {system} on {task}, configuration {known['configuration_id']}, is "
            "ok: it can't have been submitted",
            file=store.path,
        )
    return known


def _only(
    rows: list[dict[str, Any]], column: str, name: str, store: Store, complaint: str
) -> list[dict[str, Any]]:
    found = [row for row in rows if row[column] == name]
    if not found:
        names = sorted({row[column] for row in rows})
        raise InputError(f"{complaint} {name!r}: {suggestion(name, names)}", file=store.path)
    return found


def _selected(store: Store, task: str, system: str) -> str:
    for row in summary(store).to_pylist():
        if (row["task"], row["system"]) == (task, system) and row["configuration"] is not None:
            return str(row["configuration"])
    raise InputError(
        f"the latest run selected no configuration of {system} on {task}; say which was submitted "
        "with --config",
        file=store.path,
    )
