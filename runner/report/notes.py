"""What a reader of the tables must know to read them rightly."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from runner.report.rows import Rows
from runner.report.times import confidence, machine_counts, machine_letters

PACKED = "Times are packed: not for comparison across systems."

_MIXED = {
    "cpus": "numbers of cores",
    "threads": "numbers of threads",
    "memory_mib": "memory limits (MiB)",
}


def untested(task: str) -> str:
    """What is said of a task without test rows."""
    return f"{task} has folds of its own and no test rows: its AUC is that of cross-validation."


def notes(rows: Rows, summary: pa.Table) -> list[str]:
    """Sentences to print below the table, most important first."""
    return [
        *_unfinished(rows, summary),
        *_unselected(summary),
        *(untested(task) for task in dict.fromkeys(p.task for p in rows.pairs if p.untested)),
        *_left_out(rows),
        *_fitted(rows),
        *_machines(rows),
        *_mixed(rows),
        *_noisy(rows),
        *_interval(rows),
        *_packed(rows),
    ]


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
        elif row["test_outcome"] not in ("ok", None):
            found.append(f"No test score for {name}: its refit is {row['test_outcome']}.")
    return found


def _left_out(rows: Rows) -> list[str]:
    if rows.kept is None:
        return []
    others = "; ".join(f"{kind}: {n} rows" for kind, n in rows.kinds.items() if kind != rows.kept)
    return [
        f"Times are {rows.kept}; times of another kind are left out, and totals with any of them "
        f"({others})."
    ]


def _fitted(rows: Rows) -> list[str]:
    count = int((rows.own & rows.table["fitted"].to_numpy()).sum())
    if not count:
        return []
    return [f"{count} evaluations ran in a sandbox shrunk to its machine (--fit-sandbox)."]


def _machines(rows: Rows) -> list[str]:
    letters, counts = machine_letters(rows), machine_counts(rows)
    if len(letters) < 2:
        return []
    each = "; ".join(f"{letter}: {m}, {counts[m]} rows" for m, letter in letters.items())
    return [
        f"Times of {len(letters)} kinds of machine don't compare (column machines); those with "
        f"several letters are sums across them. {each}."
    ]


def _noisy(rows: Rows) -> list[str]:
    looked = rows.table["quiet"].filter(pa.array(rows.own)).drop_null()
    noisy = len(looked) - (pc.sum(looked).as_py() or 0)
    if not noisy:
        return []
    return [
        f"{noisy} of {len(looked)} exclusive times were taken on a node that wasn't "
        "quiet (column quiet of attempts)."
    ]


def _interval(rows: Rows) -> list[str]:
    repeats = {pair.repeats for pair in rows.pairs if pair.repeats > 1}
    if not repeats:
        return []
    sure = " or ".join(f"{100 * confidence(n):.3g} % ({n} repeats)" for n in sorted(repeats))
    return [
        "Times are medians over repeats, in brackets the lowest and the highest: these enclose the "
        f"true median with a probability of {sure}, if repeats are independent and alike."
    ]


# Times of unlike machines or limits side by side look like a comparison and aren't one.
def _mixed(rows: Rows) -> list[str]:
    found = []
    own = pa.array(rows.own)
    for column, words in _MIXED.items():
        values = Counter(rows.table[column].filter(own).drop_null().to_numpy().tolist())
        if len(values) > 1:
            each = "; ".join(f"{value}: {count} rows" for value, count in values.most_common())
            found.append(f"Times are not comparable, {len(values)} {words} are mixed: {each}.")
    return found


def _packed(rows: Rows) -> list[str]:
    packed = rows.texts("timing").equal("packed")
    return [PACKED] if (packed & rows.own & rows.timed).any() else []
