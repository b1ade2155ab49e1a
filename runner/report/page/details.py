"""The evaluations that the page shows one by one, with all that the store knows of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from runner.report.groups import Flags
from runner.report.rows import Rows
from runner.store import ATTEMPTS, Store
from runner.store.scan import quoted_list

MOST = 20_000
"""Evaluations that are shown one by one; beyond, those that tell most are."""
LOG_CHARACTERS = 8_000
"""The end of a log that is shown."""
ALL_LOGS = 4_000_000
"""Characters of all logs together."""
_OF_THE_RUN = ("study", "task", "task_fingerprint", "system", "configuration", "configuration_id")
_COLUMNS = [field.name for field in ATTEMPTS if field.name not in _OF_THE_RUN]
# The keys as constants: these reach below the ranking of attempts, which then has no other rows to
# rank. Of a million rows that takes a fifth of the time of a join.
_EVALUATIONS = f"select {', '.join(_COLUMNS)} from evaluations where key in ({{keys}})"


@dataclass(frozen=True)
class Details:
    """Evaluations in full.

    Attributes:
        table: A row each: the task, system and configuration as the run has them, then the
            columns of ``attempts``.
        left_out: What of the run isn't in it, in sentences.
    """

    table: pa.Table
    left_out: tuple[str, ...]


def details(store: Store, rows: Rows, configurations: pa.Table, most: int = MOST) -> Details:
    """A run's evaluations; where there are very many, those that aren't ok, the refits and those
    of the selected configurations.

    Args:
        store: Where they are.
        rows: Those that the run planned.
        configurations: Rows of ``CONFIGURATIONS``.
        most: More than these aren't shown.
    """
    chosen, left_out = _chosen(rows, configurations, most)
    own = rows.table.take(chosen)
    keys = own["key"].combine_chunks()
    found = store.query(_EVALUATIONS.format(keys=quoted_list(keys.to_pylist()) or "null"))
    found = found.take(pc.index_in(keys, found["key"].combine_chunks()))
    logs, cut = _shortened(found["log_tail"].to_pylist())
    found = found.set_column(
        found.column_names.index("log_tail"), "log_tail", pa.array(logs, pa.string())
    )
    columns = {
        "task": pa.array([pair.task for pair in rows.pairs], pa.string()).take(own["pair"]),
        "system": pa.array([pair.system for pair in rows.pairs], pa.string()).take(own["pair"]),
        "configuration_id": own["configuration_id"],
        "configuration": own["configuration"].cast(pa.string()),
        **{name: found[name] for name in found.column_names},
    }
    return Details(pa.table(columns), (*left_out, *cut))


def _chosen(rows: Rows, configurations: pa.Table, most: int) -> tuple[pa.Array, list[str]]:
    """The places of the rows to show, and what isn't among them."""
    total = len(rows.table)
    if total <= most:
        return pa.array(range(total), pa.int64()), []
    failed = ~rows.texts("outcome").equal("ok")
    refit = ~rows.texts("stage").equal("cv")
    telling = ~failed & (refit | _of_selected(rows, configurations))
    kept = np.concatenate([np.flatnonzero(failed), np.flatnonzero(telling)])[:most]
    failures = int(failed.sum())
    return pa.array(kept), [
        f"Of {total:,} evaluations this page has {len(kept):,} one by one: "
        f"{min(failures, most):,} of the {failures:,} that aren't ok, refits, and those of "
        "selected configurations. Of the others it has what each configuration sums up to; "
        "`runner query` has them all."
    ]


def _of_selected(rows: Rows, configurations: pa.Table) -> Flags:
    """The rows of selected configurations."""
    chosen = {
        (row["task"], row["system"]): row["configuration_id"]
        for row in configurations.filter(configurations["selected"]).to_pylist()
    }
    ids = [chosen.get((pair.task, pair.system), -1) for pair in rows.pairs]
    own: Flags = rows.integers("configuration_id") == np.array([*ids, 0])[rows.pair]
    return own


def _shortened(logs: list[str | None]) -> tuple[list[str | None], list[str]]:
    shown: list[str | None] = []
    size, dropped = 0, 0
    for log in logs:
        tail = log and log[-LOG_CHARACTERS:]
        if tail and size + len(tail) > ALL_LOGS:
            tail, dropped = None, dropped + 1
        size += len(tail or "")
        shown.append(tail)
    if not dropped:
        return shown, []
    return shown, [f"{dropped:,} logs are left out; column log_tail of attempts has them."]
