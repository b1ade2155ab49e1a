"""What a reader of the tables must know to read them rightly."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from runner.report.rows import Rows

PACKED = "Times are packed: not for comparison across systems."

_MIXED = {
    "timing": "ways of timing",
    "machine": "kinds of machine",
    "cpus": "numbers of cores",
    "threads": "numbers of threads",
    "memory_mib": "memory limits (MiB)",
}


def notes(rows: Rows, summary: pa.Table) -> list[str]:
    """Sentences to print below the table, most important first."""
    return [*_unfinished(rows, summary), *_unselected(summary), *_mixed(rows), *_packed(rows)]


def _unfinished(rows: Rows, summary: pa.Table) -> list[str]:
    missing = sum(summary["missing"].to_pylist())
    if rows.finished and not missing:
        return []
    state = "ended" if rows.finished else "was interrupted or is still going"
    return [f"Run {rows.run_id} {state}; {missing} of its evaluations have no row yet."]


def _unselected(summary: pa.Table) -> list[str]:
    found = []
    for row in summary.to_pylist():
        name = f"{row['system']} on {row['task']}"
        if row["configuration_id"] is None:
            found.append(f"No selection for {name}: no configuration has all its folds ok.")
        elif row["test_outcome"] != "ok":
            found.append(f"No test score for {name}: its refit is {row['test_outcome']}.")
    return found


# Times of unlike machines or limits side by side look like a comparison and aren't one.
def _mixed(rows: Rows) -> list[str]:
    found = []
    for column, words in _MIXED.items():
        values = Counter(getattr(row, column) for row in rows)
        values.pop(None, None)
        if len(values) > 1:
            each = "; ".join(f"{value}: {count} rows" for value, count in values.most_common())
            found.append(f"Times are not comparable, {len(values)} {words} are mixed: {each}.")
    return found


def _packed(rows: Rows) -> list[str]:
    return [PACKED] if any(row.timing == "packed" for row in rows) else []
