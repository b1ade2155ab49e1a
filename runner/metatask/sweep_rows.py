"""Which configurations of a sweep become a metatask's models, from the rows of one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.errors import InputError
from runner.selection import Scored, Selection, summarise
from runner.store import SWEEP, Group, Store, find_run, read_plan

_RUN = "select study, config, config_path, plan from runs where run_id = $run_id"

# Of a run's keys those of one task's groups, and the refits of the same data. Predictions are
# looked up by their keys alone, which are a narrow column.
_ROWS = """
with planned as (
    select unnest(planned_keys) as key, unnest(range(len(planned_keys))) as place
    from runs where run_id = $run_id
),
groups as (select unnest($first) as first, unnest($end) as "end", unnest($systems) as system),
found as (
    select key, place, stage, task_fingerprint, system, configuration,
        configuration_id, fold, coalesce(repeat, 0) as repeat, outcome, score, fit_seconds, timing
    from evaluations join planned using (key)
),
cv as (
    select found.* from found
    join groups on place >= first and place < "end" and stage = 'cv'
),
tests as (
    select found.* from found semi join groups using (system)
    where stage = 'test' and task_fingerprint in (select task_fingerprint from cv)
)
select *, key in (select key from predictions) as predicted
from (from cv union all from tests) order by place
"""


@dataclass(frozen=True)
class SweepRun:
    """A run of a sweep as its store has it.

    Attributes:
        config: The text of the study's file.
        config_path: Where that was; None where nobody recorded it.
        groups: Of its plan, in its order.
    """

    run_id: str
    study: str
    config: str
    config_path: Path | None
    groups: tuple[Group, ...]

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of its tasks, in the study's order."""
        return tuple(dict.fromkeys(group.task for group in self.groups))


@dataclass(frozen=True)
class Candidate:
    """A configuration whose folds are all ok.

    Attributes:
        mean: Its mean score over the folds.
        folds: By fold the key of its evaluation, of the first repeat.
        refit: The key of its evaluation on the test rows; None where there is none.
        test_score: The score there.
        seconds: What its fits took, those of the folds and the refit together; None where one of
            them wasn't timed.
        predicted: Whether the store has all predictions that a metatask needs.
    """

    system: str
    configuration_id: int
    configuration: str
    mean: float
    folds: Mapping[int, str]
    refit: str | None
    test_score: float | None
    seconds: float | None
    predicted: bool

    @property
    def keys(self) -> tuple[str, ...]:
        """Of all its evaluations."""
        return (*self.folds.values(), *(() if self.refit is None else (self.refit,)))


@dataclass(frozen=True)
class Candidates:
    """The configurations of a task whose folds are all ok, best first.

    Attributes:
        fingerprint: Of the task that they were scored on.
        incomplete: How many others were planned.
        any_predicted: Whether the store has any of the task's predictions.
    """

    fingerprint: str
    ranked: tuple[Candidate, ...]
    incomplete: int
    any_predicted: bool


def read_run(store: Store, run_id: str | None = None) -> SweepRun:
    """A run of a sweep; by default the latest one of the store.

    Args:
        store: Where it is.
        run_id: The run's id, or a study's name for the latest run of that.

    Raises:
        InputError: There is no such run, or it is none of a sweep.
    """
    name = find_run(store, run_id, SWEEP)
    (row,) = store.query(_RUN, {"run_id": name}).to_pylist()
    return SweepRun(
        name,
        row["study"] or "",
        row["config"] or "",
        None if row["config_path"] is None else Path(row["config_path"]),
        read_plan(row["plan"]),
    )


def read_candidates(store: Store, run: SweepRun, task: str) -> Candidates:
    """The configurations of a task, as a run scored them.

    Args:
        store: Where the run is.
        run: The run.
        task: One of its tasks.

    Raises:
        InputError: The run has no rows of the task.
    """
    places = list(_places(run.groups, task))
    asked = {
        "run_id": run.run_id,
        "first": [first for first, _ in places],
        "end": [first + group.keys for first, group in places],
        "systems": [group.system for _, group in places],
    }
    rows = store.query(_ROWS, asked).to_pylist()
    cv = [row for row in rows if row["stage"] == "cv"]
    if not cv:
        raise InputError(f"run {run.run_id} has no rows of task {task!r} yet", file=store.path)
    tests = {
        (row["system"], row["configuration"]): row
        for row in rows
        if row["stage"] == "test" and row["repeat"] == 0 and row["outcome"] == "ok"
    }
    found: list[tuple[int, Candidate]] = []
    incomplete = 0
    for turn, (first, group) in enumerate(places):
        by_number = _by_number(cv, first, group)
        complete = list(_complete(group, by_number, tests))
        found += ((turn, candidate) for candidate in complete)
        incomplete += len(group.configuration_ids or by_number) - len(complete)
    found.sort(key=lambda one: (-one[1].mean, one[0], one[1].configuration_id))
    return Candidates(
        cv[0]["task_fingerprint"],
        tuple(candidate for _, candidate in found),
        incomplete,
        any(row["predicted"] for row in rows),
    )


def _places(groups: Sequence[Group], task: str) -> Iterator[tuple[int, Group]]:
    """The task's groups, each with the place of its first key among those planned."""
    first = 0
    for group in groups:
        if group.task == task:
            yield first, group
        first += group.keys


def _by_number(
    rows: Sequence[Mapping[str, Any]], first: int, group: Group
) -> dict[int, list[Mapping[str, Any]]]:
    """A group's rows by their configuration's number in the run.

    Its keys stand by repeat, configuration, fold.
    """
    ids = group.configuration_ids
    found: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        place = row["place"] - first
        if 0 <= place < group.keys:
            known = ids[place // group.folds % len(ids)] if ids else row["configuration_id"]
            found.setdefault(known, []).append(row)
    return found


def _complete(
    group: Group,
    by_number: Mapping[int, Sequence[Mapping[str, Any]]],
    tests: Mapping[tuple[str, str], Mapping[str, Any]],
) -> Iterator[Candidate]:
    """A group's configurations whose folds are all ok."""
    scored = (
        Scored(number, row["fold"], row["outcome"], row["score"], row["repeat"])
        for number, rows in by_number.items()
        for row in rows
    )
    for number, selection in summarise(scored, group.folds, group.repeats).items():
        if selection is not None:
            yield _candidate(group.system, selection, by_number[number], tests)


def _candidate(
    system: str,
    selection: Selection,
    rows: Sequence[Mapping[str, Any]],
    tests: Mapping[tuple[str, str], Mapping[str, Any]],
) -> Candidate:
    folds = [row for row in rows if row["repeat"] == 0]
    test = tests.get((system, rows[0]["configuration"]))
    all_rows = folds if test is None else [*folds, test]
    seconds = [row["fit_seconds"] for row in all_rows]
    return Candidate(
        system=system,
        configuration_id=selection.configuration_id,
        configuration=rows[0]["configuration"],
        mean=selection.mean,
        folds={row["fold"]: row["key"] for row in folds},
        refit=None if test is None else test["key"],
        test_score=None if test is None else test["score"],
        seconds=None if None in seconds else sum(seconds),
        predicted=all(row["predicted"] for row in all_rows),
    )
