"""The evaluations that the page shows one by one, with all that the store knows of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from runner.report.rows import Pair, Row, Rows
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
    keys = pa.array([row.key for _, row in chosen], pa.string())
    found = store.query(_EVALUATIONS.format(keys=quoted_list(keys.to_pylist()) or "null"))
    found = found.take(pc.index_in(keys, found["key"].combine_chunks()))
    logs, cut = _shortened(found["log_tail"].to_pylist())
    found = found.set_column(
        found.column_names.index("log_tail"), "log_tail", pa.array(logs, pa.string())
    )
    own = {
        "task": pa.array([pair.task for pair, _ in chosen], pa.string()),
        "system": pa.array([pair.system for pair, _ in chosen], pa.string()),
        "configuration_id": pa.array([row.configuration_id for _, row in chosen], pa.int32()),
        "configuration": pa.array([row.configuration for _, row in chosen], pa.string()),
    }
    columns = own | {name: found[name] for name in found.column_names}
    return Details(pa.table(columns), (*left_out, *cut))


_Chosen = list[tuple[Pair, Row]]


def _chosen(rows: Rows, configurations: pa.Table, most: int) -> tuple[_Chosen, list[str]]:
    total = sum(len(pair.cv) + len(pair.tests) + len(pair.external) for pair in rows.pairs)
    if total <= most:
        return list(_evaluations(rows)), []
    selected = _selected(configurations)
    failed: _Chosen = []
    telling: _Chosen = []
    # Of a million rows a list of all would cost seconds.
    for pair, row in _evaluations(rows):
        if row.outcome != "ok":
            failed.append((pair, row))
        elif row.stage != "cv" or row.configuration_id in selected[pair.task, pair.system]:
            telling.append((pair, row))
    kept = [*failed, *telling][:most]
    shown = min(len(failed), most)
    return kept, [
        f"Of {total:,} evaluations this page has {len(kept):,} one by one: {shown:,} of "
        f"the {len(failed):,} that aren't ok, refits, and those of selected configurations. Of the "
        "others it has what each configuration sums up to; `runner query` has them all."
    ]


def _selected(configurations: pa.Table) -> Mapping[tuple[str, str], set[int]]:
    """The selected configurations' numbers, by task and system."""
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for row in configurations.filter(configurations["selected"]).to_pylist():
        found[row["task"], row["system"]].add(row["configuration_id"])
    return found


def _evaluations(rows: Rows) -> Iterator[tuple[Pair, Row]]:
    for pair in rows.pairs:
        for row in (*pair.cv, *pair.tests, *pair.external):
            yield pair, row


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
