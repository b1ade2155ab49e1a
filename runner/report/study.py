"""What a run found, as mlbench's study."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from runner.errors import InputError
from runner.mlbench.setting import Setting
from runner.mlbench.study import MODELS, Result, Study, System, Task, Winning
from runner.report.notes import PACKED, untested
from runner.report.rows import Pair, Rows, load
from runner.report.summary import Tables, tabulate
from runner.report.times import comparable, machine_counts
from runner.selection import mean_score
from runner.store import OUTCOMES, Store

AWAITED = "the competition's score isn't entered"
"""Why there is no AUC where only a competition has the labels of the test rows."""
OTHERS = "Others"
"""The platform of the systems that are in no other."""

_RUN = "select setting from runs where run_id = $run_id"


def load_study(store: Store, run_id: str | None = None) -> Study:
    """A run's outcome.

    Args:
        store: Where it is.
        run_id: The run; by default the latest one that planned anything.

    Raises:
        InputError: There is no such run.
    """
    rows = comparable(load(store, run_id))
    return study_of(store, rows, tabulate(rows))


def study_of(store: Store, rows: Rows, tables: Tables) -> Study:
    """:func:`load_study` of rows already loaded, with times of one kind.

    What the run recorded of its tasks and systems is taken from there (``runs.setting``). Systems
    that are in none of the study's platforms make up one more, ``OTHERS``.

    Args:
        store: Where they are.
        rows: The run's.
        tables: Their sums.
    """
    (run,) = store.query(_RUN, {"run_id": rows.run_id}).to_pylist()
    setting = Setting.from_json(run["setting"])
    recorded = {task.name: task for task in setting.tasks}
    tasks = {
        name: _competition(recorded.get(name, Task(name)))
        for name in dict.fromkeys(pair.task for pair in rows.pairs)
    }
    known = {system.name: system for system in setting.systems}
    systems = {
        name: known.get(name) or _system(name)
        for name in dict.fromkeys(pair.system for pair in rows.pairs)
    }
    timed, scores = _timed(tables.configurations), _fold_scores(rows, tables.summary)
    return Study(
        name=rows.study,
        tasks=tuple(tasks.values()),
        systems=tuple(systems.values()),
        platforms=_platforms(list(systems), setting.platforms),
        results=tuple(
            _ranked(
                replace(
                    _result(row, rows.pairs[number], mixed=number in rows.mixed),
                    configurations=timed.get((row["task"], row["system"])),
                    fold_aucs=scores[number],
                ),
                tasks[row["task"]],
            )
            for number, row in enumerate(tables.summary.to_pylist())
        ),
        remarks=(
            *_remarks(rows),
            *(untested(name) for name, task in tasks.items() if task.untested),
        ),
    )


def _timed(configurations: pa.Table) -> Mapping[tuple[str, str], int]:
    """How many configurations have a time, by task and system."""
    found = configurations.filter(pc.is_valid(configurations["training_seconds"]))
    counts = found.group_by(["task", "system"]).aggregate([([], "count_all")])
    return {(row["task"], row["system"]): row["count_all"] for row in counts.to_pylist()}


def _fold_scores(rows: Rows, summary: pa.Table) -> list[tuple[float, ...]]:
    """For each pair its selected configuration's score in each fold."""
    chosen = summary["configuration_id"].fill_null(-1).to_numpy()
    ids = chosen[rows.pair]
    own = rows.texts("stage").equal("cv") & (rows.integers("configuration_id") == ids)
    found: list[dict[int, list[float]]] = [defaultdict(list) for _ in rows.pairs]
    columns = rows.table.select(["pair", "fold", "score"]).filter(pa.array(own))
    for row in columns.to_pylist():
        found[row["pair"]][row["fold"]].append(row["score"])
    return [tuple(mean_score(folds[fold]) for fold in sorted(folds)) for folds in found]


def _remarks(rows: Rows) -> Iterator[str]:
    """What holds for the times of all pairs."""
    kinds = rows.texts("kind").counts(rows.timed & rows.own)
    if (rows.kept or next(iter(kinds), "")).startswith("packed"):
        yield PACKED
    machines = machine_counts(rows)
    if len(machines) > 1:
        yield f"Times of {len(machines)} kinds of machine: not comparable."


def _result(row: Mapping[str, Any], pair: Pair, *, mixed: bool) -> Result:
    external = row["external_auc"]
    # A task with folds of its own is scored by these.
    auc = row["cv_auc"] if pair.untested else row["test_auc"]
    failure = _failure(row, auc)
    return Result(
        row["task"],
        row["system"],
        configuration=row["configuration"],
        cv_auc=row["cv_auc"],
        # What the competition itself says counts: its labels are not the study's.
        auc=auc if external is None else external,
        external=external is not None,
        awaited=failure == AWAITED,
        total_seconds=row["total_training_seconds"],
        why="; ".join(filter(None, [_why(row, mixed), failure])),
    )


def _failure(row: Mapping[str, Any], auc: float | None) -> str:
    """Why a selected configuration has no test score."""
    if row["configuration_id"] is None or auc is not None or row["external_auc"] is not None:
        return ""
    return AWAITED if row["test_outcome"] == "ok" else f"the refit is {row['test_outcome']}"


def _why(row: Mapping[str, Any], mixed: bool) -> str:
    found = {outcome: row[outcome] for outcome in OUTCOMES if row[outcome]}
    if not found:
        return "no evaluation has a row"
    if mixed:
        return "some times are of another kind than the table's"
    planned = sum(found.values()) + row["missing"]
    found.pop("ok", None)
    bad = sum(found.values())
    if not bad:
        return "some evaluations have no row yet" if row["missing"] else ""
    return f"{bad} of {planned} evaluations aren't ok ({min(found)})"


def _competition(task: Task) -> Task:
    """The task with what its leaderboard says of it."""
    board = task.leaderboard
    if board is None:
        return task
    score, model = board.winning_score, task.winning.model if task.winning else None
    return replace(task, teams=board.teams, winning=Winning(score, board.rank(score), model))


def _ranked(result: Result, task: Task) -> Result:
    if task.leaderboard is None or result.auc is None:
        return result
    return replace(result, rank=task.leaderboard.rank(result.auc))


def _system(name: str) -> System:
    from runner.models import family

    try:
        linear = family(name).linear
    except InputError:
        # A user's own class, of which the store knows nothing but its name.
        linear = None
    return System(name, MODELS.get(name, name), linear)


def _platforms(
    systems: Sequence[str], given: Mapping[str, Sequence[str]] | None
) -> dict[str, tuple[str, ...]]:
    if given is None:
        from runner.config import PLATFORMS

        given = PLATFORMS
    found = {
        name: tuple(system for system in members if system in systems)
        for name, members in given.items()
    }
    placed = {system for members in found.values() for system in members}
    others = tuple(system for system in systems if system not in placed)
    found = {name: members for name, members in found.items() if members}
    return found | ({OTHERS: others} if others else {})
