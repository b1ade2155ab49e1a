"""What is on the page: facts, notes, tables and charts of a run or of printed numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from runner.mlbench.regimes import Thresholds
from runner.mlbench.study import Study
from runner.report.page.charts import Chart, configuration_charts, study_charts
from runner.report.page.columns import encode
from runner.report.page.details import details
from runner.report.page.few import few
from runner.report.rows import Rows
from runner.report.times import machine_letters
from runner.store import Store

_TITLES = {
    "table6": "Total training time (s)",
    "table7": "Average training time (s)",
    "table8": "AUC on the test rows, and its rank",
    "table9": "Capacity of platforms (%)",
    "table10": "Capacity of logistic regression (%)",
    "table11": "AUC at tolerance 10 %",
    "table12": "Gap to the winning code",
    "missing": "Missing values",
    "universality": "Models needed for universality",
    "regimes": "Regimes of tolerance",
    "pareto": "Pareto front of AUC and training time",
    "linear_by_size": "Linear against non-linear by size",
    "fastest": "The fastest of a kind against the best",
    "recommendations": "Recommendations",
    "comparisons": "Paired comparisons",
}


@dataclass(frozen=True)
class Content:
    """What the page shows.

    Attributes:
        facts: Pairs of a word and what it is.
        notes: What a reader must know, most important first.
        answers: What the numbers say, in sentences.
        tables: Documents of :func:`runner.report.page.columns.encode` with ``id`` and ``title``.
        charts: Documents of :mod:`runner.report.page.charts`.
        live: How far a run is that is still watched, from :mod:`runner.report.live`; None when
            nothing more is to come.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    answers: tuple[str, ...]
    tables: tuple[Mapping[str, Any], ...]
    charts: tuple[Chart, ...]
    live: Mapping[str, Any] | None = None


def of_run(
    store: Store,
    rows: Rows,
    summary: pa.Table,
    configurations: pa.Table,
    notes: Sequence[str],
    study: Content,
) -> Content:
    """A run's page.

    Args:
        store: Where its evaluations are.
        rows: Those that the run planned.
        summary: Rows of ``SUMMARY``.
        configurations: Rows of ``CONFIGURATIONS``.
        notes: What a reader of the tables must know.
        study: The same run as mlbench's study, from :func:`of_study`.
    """
    configurations, cut = few(configurations)
    shown = details(store, rows, configurations)
    own = (
        _table("summary", "Systems by task", summary),
        _table("configurations", "Configurations", configurations),
        _table("evaluations", "Evaluations", shown.table),
    )
    return Content(
        title=rows.study,
        facts=tuple(_facts(store, rows)),
        notes=(*notes, *cut, *shown.left_out),
        answers=study.answers,
        tables=(*own, *study.tables),
        charts=(*configuration_charts(configurations), *study.charts),
    )


def of_study(
    study: Study,
    tables: Mapping[str, pa.Table],
    answers: Sequence[str],
    thresholds: Thresholds,
    without: Sequence[str] | None = None,
) -> Content:
    """The page of a study without evaluations of its own, such as a paper's printed numbers.

    Args:
        study: What was found.
        tables: Its tables by name; those without rows are left out.
        answers: What the numbers say.
        thresholds: Of the regimes in figure 6.
        without: The tasks that figure 1 leaves out one after the other.
    """
    facts = [
        ("tasks", ", ".join(task.name for task in study.tasks)),
        ("systems", ", ".join(system.name for system in study.systems)),
    ]
    return Content(
        title=study.name,
        facts=tuple(facts),
        notes=study.remarks,
        answers=tuple(answers),
        tables=tuple(
            _table(name, _TITLES.get(name, name), table)
            for name, table in tables.items()
            if len(table)
        ),
        charts=tuple(study_charts(study, thresholds, without)),
    )


def _table(name: str, title: str, table: pa.Table) -> Mapping[str, Any]:
    return {"id": name, "title": title, **encode(table)}


_RUN = """
select command, strftime(started_at, '%Y-%m-%d %H:%M:%S') as started,
    strftime(ended_at, '%Y-%m-%d %H:%M:%S') as ended, machine, versions
from runs where run_id = $run_id
"""


def _facts(store: Store, rows: Rows) -> Iterator[tuple[str, str]]:
    tasks = dict.fromkeys(pair.task for pair in rows.pairs)
    systems = dict.fromkeys(pair.system for pair in rows.pairs)
    yield "tasks", f"{len(tasks)}: {', '.join(tasks)}"
    yield "systems", f"{len(systems)}: {', '.join(systems)}"
    found = int(rows.texts("stage").equal("cv").sum())
    planned = sum(pair.planned for pair in rows.pairs)
    yield "evaluations", f"{found:,} of {planned:,} planned, refits apart"
    yield from run_facts(store, rows.run_id, machine_letters(rows))


def run_facts(store: Store, run_id: str, machines: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What was typed, when it ran, on what and with which versions.

    Args:
        store: Where the run is.
        run_id: The run.
        machines: By each machine that made a row its letter; empty for the run's own.
    """
    (run,) = store.query(_RUN, {"run_id": run_id}).to_pylist()
    yield "command", run["command"] or ""
    yield "started", f"{run['started'] or ''} UTC"
    yield "ended", f"{run['ended']} UTC" if run["ended"] else "not yet"
    letters = machines or {run["machine"] or "": "A"}
    for machine, letter in letters.items():
        yield "machine" if len(letters) == 1 else f"machine {letter}", _in_words(machine)
    yield "versions", _in_words(run["versions"] or "")
    yield "run", run_id


def _in_words(text: str) -> str:
    """A JSON object as words; any other text as it is."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    if not isinstance(found, dict):
        return text
    return ", ".join(f"{name} {value}" for name, value in found.items())
