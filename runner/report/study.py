"""What a run found, as mlbench's study, summed up inside the store's database.

The rules are those of runner.report.summary and times; here no evaluation becomes a Python object
unless its configuration might be the selected one.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runner.config import PLATFORMS
from runner.errors import InputError
from runner.mlbench.setting import Setting
from runner.mlbench.study import MODELS, Result, Study, System, Task, Winning
from runner.models import family
from runner.report.notes import PACKED, untested
from runner.report.rows import find_run
from runner.selection import Scored, select
from runner.store import Store

AWAITED = "the competition's score isn't entered"
"""Why there is no AUC where only a competition has the labels of the test rows."""
OTHERS = "Others"
"""The platform of the systems that are in no other."""
# Reading and joining a million rows is what takes the time, so one query does it, once. Means of
# the database may differ from exact ones in the last digits: they only narrow the choice of a
# configuration down, and runner.selection makes it.
_PAIRS = """
with planned as (
    select unnest(planned_keys) as key, unnest(range(len(planned_keys))) as place
    from runs where run_id = $run_id
),
pairs as (
    select unnest(range(len($first))) as pair, unnest($first) as first, unnest($end) as "end",
        unnest($folds) as folds, unnest($repeats) as repeats, unnest($ids) as ids,
        unnest($systems) as system
),
found as materialized (
    select place, stage, system, task_fingerprint, configuration, configuration_id, fold,
        coalesce(repeat, 0) as repeat, outcome, fit_seconds, machine,
        case when outcome = 'ok' and isfinite(score) then score end as score,
        coalesce(timing, 'packed')
            || case when json_extract_string(enforced, '$.size') = 'fitted'
                then ' in a shrunk sandbox' else '' end as kind
    from evaluations left join planned using (key)
    where place is not null or stage = 'external'
),
cv as materialized (
    select pair, folds, repeats, found.* exclude (configuration_id, system),
        coalesce(ids[1 + (place - first) // folds % nullif(len(ids), 0)], configuration_id) as id
    from found join pairs on place >= first and place < "end"
),
by_fold as (
    select pair, id, fold, any_value(folds) as folds, avg(score) as mean,
        count(score) = any_value(repeats) as complete
    from cv group by pair, id, fold
),
by_configuration as (
    select pair, id, avg(mean) as mean from by_fold
    group by pair, id having count(*) filter (complete) = any_value(folds)
),
candidates as (
    select pair, id from by_configuration
    qualify mean >= max(mean) over (partition by pair) - 1e-9
),
chosen as (
    select pair, list({id: id, configuration: configuration, fold: fold, repeat: repeat,
        outcome: outcome, score: score} order by id, fold, repeat) as candidates
    from cv semi join candidates using (pair, id) group by pair
),
kept as (
    select kind from found where fit_seconds is not null
    group by kind order by count(*) desc, kind limit 1
),
used as (select count(distinct machine) as machines from found where fit_seconds is not null),
by_evaluation as (
    select pair, id, fold, any_value(repeats) as repeats, avg(fit_seconds) as seconds,
        count(fit_seconds) as times
    from cv where fit_seconds is not null group by pair, id, fold
),
once as (
    select pair, fsum(seconds) as total, count(distinct id) as timed,
        bool_or(times < repeats) as lacking
    from by_evaluation group by pair
),
by_repeat as (
    select pair, repeat, fsum(fit_seconds) as total from cv where fit_seconds is not null
    group by pair, repeat
),
middle as (select pair, median(total) as total from by_repeat group by pair),
counted as (
    select pair, any_value(repeats) as repeats, list(distinct task_fingerprint) as fingerprints,
        bool_or(fit_seconds is not null and kind is distinct from (select kind from kept)) as mixed,
        count(*) as rows, count(*) filter (outcome = 'ok') as ok,
        min(outcome) filter (outcome <> 'ok') as bad
    from cv group by pair
),
tests as (
    select pair, list({stage: test.stage, configuration: test.configuration,
        outcome: test.outcome, score: test.score} order by test.place) as tests
    from (select distinct pair, task_fingerprint from cv) as known join pairs using (pair)
        join found as test on test.stage <> 'cv' and test.system = pairs.system
            and test.task_fingerprint = known.task_fingerprint
    group by pair
)
select counted.*, chosen.candidates, once.timed, (from kept) as kind, (from used) as machines,
    case when mixed then null when repeats < 2 or lacking then once.total else middle.total end
        as seconds, tests.tests
from counted left join chosen using (pair) left join once using (pair)
    left join middle using (pair) left join tests using (pair)
order by pair
"""

_RUN = "select study, plan, setting from runs where run_id = $run_id"


def load_study(store: Store, run_id: str | None = None) -> Study:
    """A run's outcome.

    What the run recorded of its tasks and systems is taken from there (``runs.setting``). Systems
    that are in none of the study's platforms make up one more, ``OTHERS``.

    Args:
        store: Where it is.
        run_id: The run; by default the latest one that planned anything.

    Raises:
        InputError: There is no such run.
    """
    run_id = find_run(store, run_id)
    (run,) = store.query(_RUN, {"run_id": run_id}).to_pylist()
    groups = json.loads(run["plan"] or "[]")
    setting = Setting.from_json(run["setting"])
    recorded = {task.name: task for task in setting.tasks}
    tasks = {
        group["task"]: _competition(recorded.get(group["task"], Task(group["task"])))
        for group in groups
    }
    known = {system.name: system for system in setting.systems}
    systems = {
        group["system"]: known.get(group["system"]) or _system(group["system"]) for group in groups
    }
    rows = _rows(store, run_id, groups)
    return Study(
        name=run["study"] or "",
        tasks=tuple(tasks.values()),
        systems=tuple(systems.values()),
        platforms=_platforms(list(systems), setting.platforms),
        results=tuple(
            _ranked(result, tasks[result.task]) for result in _results(groups, rows, tasks)
        ),
        remarks=(
            *_remarks(next(iter(rows.values()), {})),
            *(untested(name) for name, task in tasks.items() if task.untested),
        ),
    )


@dataclass(frozen=True)
class _Selected:
    """A pair's selected configuration."""

    configuration: str
    mean: float
    folds: tuple[float, ...]


def _rows(
    store: Store, run_id: str, groups: Sequence[Mapping[str, Any]]
) -> dict[int, Mapping[str, Any]]:
    """What the database has of each pair, by its number."""
    if not groups:
        return {}
    rows = store.query(_PAIRS, {"run_id": run_id, **_places(groups)}).to_pylist()
    return {row["pair"]: row for row in rows}


def _results(
    groups: Sequence[Mapping[str, Any]],
    rows: Mapping[int, Mapping[str, Any]],
    tasks: Mapping[str, Task],
) -> Iterator[Result]:
    for pair, group in enumerate(groups):
        if pair in rows:
            yield _result(group, rows[pair], tasks[group["task"]])
        else:
            yield Result(group["task"], group["system"], why="no evaluation has a row")


def _remarks(row: Mapping[str, Any]) -> Iterator[str]:
    """What holds for the times of all pairs, of which any row tells."""
    if (row.get("kind") or "").startswith("packed"):
        yield PACKED
    if row.get("machines", 0) > 1:
        yield f"Times of {row['machines']} kinds of machine: not comparable."


def _places(groups: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Where each pair's keys stand among the planned ones, and what they are of."""
    ends = [0]
    for group in groups:
        ends.append(ends[-1] + group["keys"])
    return {
        "first": ends[:-1],
        "end": ends[1:],
        "folds": [group["folds"] for group in groups],
        "repeats": [group["repeats"] for group in groups],
        "systems": [group["system"] for group in groups],
        "ids": [group.get("configuration_ids") or [] for group in groups],
    }


def _result(group: Mapping[str, Any], row: Mapping[str, Any], task: Task) -> Result:
    result = Result(
        group["task"],
        group["system"],
        configurations=row["timed"],
        total_seconds=row["seconds"],
        why=_why(group, row),
    )
    selected = _selected(group, row["candidates"] or [])
    if selected is None:
        return result
    own = [test for test in row["tests"] or [] if test["configuration"] == selected.configuration]
    tests = [test for test in own if test["stage"] == "test"]
    # A task with folds of its own is scored by these.
    auc, failure = (selected.mean, "") if task.untested else _test_auc(tests, group["repeats"])
    # What the competition itself says counts: its labels are not the study's.
    external = next((test["score"] for test in own if test["stage"] == "external"), None)
    return replace(
        result,
        configuration=selected.configuration,
        cv_auc=selected.mean,
        fold_aucs=selected.folds,
        auc=auc if external is None else external,
        external=external is not None,
        awaited=failure == AWAITED and external is None,
        why=_and(result.why, failure if external is None else ""),
    )


def _test_auc(tests: Sequence[Mapping[str, Any]], repeats: int) -> tuple[float | None, str]:
    """The mean over the refits' repeats, or why there is none."""
    failed = next((test["outcome"] for test in tests if test["outcome"] != "ok"), None)
    if failed is not None or len(tests) < repeats:
        return None, f"the refit is {failed or 'missing'}"
    if any(test["score"] is None for test in tests):
        return None, AWAITED
    return statistics.fmean(test["score"] for test in tests), ""


def _selected(
    group: Mapping[str, Any], candidates: Sequence[Mapping[str, Any]]
) -> _Selected | None:
    scored = [
        Scored(row["id"], row["fold"], row["outcome"], row["score"], row["repeat"])
        for row in candidates
    ]
    selection = select(scored, group["folds"], group["repeats"])
    if selection is None:
        return None
    own = [row for row in candidates if row["id"] == selection.configuration_id]
    folds = range(group["folds"])
    return _Selected(
        own[0]["configuration"],
        selection.mean,
        tuple(statistics.fmean(row["score"] for row in own if row["fold"] == f) for f in folds),
    )


def _and(*reasons: str) -> str:
    return "; ".join(filter(None, reasons))


def _why(group: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    if row["mixed"]:
        return "some times are of another kind than the table's"
    if row["rows"] == row["ok"]:
        return "" if row["rows"] == group["keys"] else "some evaluations have no row yet"
    bad = row["rows"] - row["ok"]
    return f"{bad} of {group['keys']} evaluations aren't ok ({row['bad']})"


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
    try:
        linear = family(name).linear
    except InputError:
        # A user's own class, of which the store knows nothing but its name.
        linear = None
    return System(name, MODELS.get(name, name), linear)


def _platforms(
    systems: Sequence[str], given: Mapping[str, Sequence[str]] | None
) -> dict[str, tuple[str, ...]]:
    wanted = PLATFORMS if given is None else given
    found = {
        name: tuple(system for system in members if system in systems)
        for name, members in wanted.items()
    }
    placed = {system for members in found.values() for system in members}
    others = tuple(system for system in systems if system not in placed)
    found = {name: members for name, members in found.items() if members}
    return found | ({OTHERS: others} if others else {})
