"""How far a run is, read from the store cheaply enough to be asked every few seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runner.mlbench.setting import Setting
from runner.mlbench.study import Task
from runner.store import OUTCOMES, Group, Store, read_plan


@dataclass(frozen=True)
class Configured:
    """What there is of one configuration in cross-validation.

    Attributes:
        done: Evaluations that have a row.
        own: Those of them that this run computed.
        seconds: Their mean time by the sandbox's clock.
        shared_with: Configurations that were read off the same fit.
        auc: The mean over the folds; None until all are there and ok.
        outcomes: How many evaluations ended how.
    """

    configuration_id: int
    configuration: str | None
    done: int
    own: int
    seconds: float | None
    shared_with: int
    auc: float | None
    outcomes: Mapping[str, int]


@dataclass(frozen=True)
class PairProgress:
    """One system on one task.

    Attributes:
        task: With what the run recorded of it.
        planned: Evaluations in cross-validation.
        ids: Its configurations' numbers; empty where the run doesn't say them.
        found: Those configurations that have a row, by number.
    """

    task: Task
    system: str
    folds: int
    repeats: int
    planned: int
    ids: tuple[int, ...]
    found: Mapping[int, Configured]

    @cached_property
    def done(self) -> int:
        """Evaluations that have a row."""
        return sum(one.done for one in self.found.values())

    @cached_property
    def outcomes(self) -> Counter[str]:
        """How many of them ended how."""
        return _total(one.outcomes for one in self.found.values())

    @cached_property
    def best(self) -> Configured | None:
        """The best configuration so far; of equal ones the first, as in runner.selection."""
        complete = [one for one in self.found.values() if one.auc is not None]
        return min(complete, key=lambda one: (-(one.auc or 0), one.configuration_id), default=None)


@dataclass(frozen=True)
class Refits:
    """The evaluations on the test rows, which follow the selections."""

    planned: int
    done: int
    outcomes: Mapping[str, int]


@dataclass(frozen=True)
class Progress:
    """How far a run is. Times are seconds since 1970.

    Attributes:
        ended: Whether it came to its end.
        begun: When the first evaluation that it computed began; None where there is none yet.
        last: When the last one ended.
        longest: The longest of them, in seconds.
    """

    run_id: str
    study: str
    started: float | None
    ended: bool
    pairs: tuple[PairProgress, ...]
    refits: Refits
    begun: float | None
    last: float | None
    longest: float

    @cached_property
    def planned(self) -> int:
        """All evaluations, refits among them."""
        return sum(pair.planned for pair in self.pairs) + self.refits.planned

    @cached_property
    def done(self) -> int:
        """Those that have a row."""
        return sum(pair.done for pair in self.pairs) + self.refits.done

    @cached_property
    def own(self) -> int:
        """Those in cross-validation that this run computed."""
        return sum(one.own for pair in self.pairs for one in pair.found.values())

    @cached_property
    def outcomes(self) -> Counter[str]:
        """How many of them ended how."""
        return _total([*(pair.outcomes for pair in self.pairs), self.refits.outcomes])


_LATEST = """
select run_id, study, plan, setting, epoch(started_at) as started, ended_at is not null as ended
from runs where len(planned_keys) > 0
order by started_at desc nulls last, run_id desc limit 1
"""

# Without a pair are the keys that came to be wanted later: the refits. A pair's list of numbers is
# a table of its own, since a join would copy it to every evaluation.
_FOUND = f"""
with planned as (
    select unnest(planned_keys) as key, unnest(range(len(planned_keys))) as place
    from runs where run_id = $run_id
),
pairs as (
    select unnest(range(len($first))) as pair, unnest($first) as first, unnest($end) as "end",
        unnest($folds) as folds, unnest($repeats) as repeats, unnest($configurations) as of_grid
),
places as (
    select pair, first, folds, folds * repeats as whole, of_grid,
        unnest(range(first, "end")) as place
    from pairs
),
numbers as (
    select unnest(range(len($ids))) as pair, unnest($ids) as ids
),
grid as (select pair, unnest(ids) as id, unnest(range(len(ids))) as turn from numbers),
found as (
    select places.pair, whole, configuration, outcome, wall_seconds, shared_with,
        coalesce(grid.id, configuration_id) as id,
        case when outcome = 'ok' and isfinite(score) then score end as score,
        run_id = $run_id as own, epoch(started_at) as began
    from evaluations join planned using (key) left join places using (place)
        left join grid
        on grid.pair = places.pair and turn = (place - first) // folds % nullif(of_grid, 0)
)
select pair, id, any_value(configuration) as configuration,
    count(*) as done, count(*) filter (own) as own,
    avg(wall_seconds) as seconds, coalesce(max(shared_with), 1) as shared_with,
    case when count(score) = any_value(whole) then avg(score) end as auc,
    {", ".join(f"count(*) filter (outcome = '{name}') as {name}" for name in OUTCOMES)},
    min(began) filter (own) as began,
    max(began + coalesce(wall_seconds, 0)) filter (own) as ended,
    max(wall_seconds) filter (own) as longest
from found group by pair, id
"""


class ProgressReader:
    """Reads how far a store's latest run is, again and again: only what has changed.

    Args:
        store: The results.
    """

    def __init__(self, store: Store):
        self._store = store
        self._moment: Mapping[str, str] = {}
        self._run: Mapping[str, Any] | None = None
        self._progress: Progress | None = None

    def read(self) -> Progress | None:
        """How far it is now, the same object where nothing was committed since; None where no run
        is recorded."""
        moment = self._store.moment()
        if moment == self._moment:
            return self._progress
        if moment["runs"] != self._moment.get("runs"):
            self._run = next(iter(self._store.query(_LATEST).to_pylist()), None)
        self._progress = None if self._run is None else _read(self._store, self._run)
        # What was committed while the rows were read will be read the next time.
        self._moment = moment
        return self._progress


def _read(store: Store, run: Mapping[str, Any]) -> Progress:
    groups = read_plan(run["plan"])
    rows = store.query(_FOUND, {"run_id": run["run_id"], **_places(groups)}).to_pylist()
    setting = Setting.from_json(run["setting"])
    began = [row["began"] for row in rows if row["began"] is not None]
    ended = [row["ended"] for row in rows if row["ended"] is not None]
    return Progress(
        run_id=run["run_id"],
        study=run["study"] or "",
        started=run["started"],
        ended=run["ended"],
        pairs=tuple(_pairs(groups, setting, rows)),
        refits=_refits(groups, setting, [row for row in rows if row["pair"] is None]),
        begun=min(began, default=None),
        last=max(ended, default=None),
        longest=max((row["longest"] or 0.0 for row in rows), default=0.0),
    )


def _places(groups: Sequence[Group]) -> dict[str, list[Any]]:
    """Where each pair's keys stand among the planned ones."""
    ends = [0]
    for group in groups:
        ends.append(ends[-1] + group.keys)
    return {
        "first": ends[:-1],
        "end": ends[1:],
        "folds": [group.folds for group in groups],
        "repeats": [group.repeats for group in groups],
        "configurations": [len(group.configuration_ids) for group in groups],
        "ids": [list(group.configuration_ids) for group in groups],
    }


def _pairs(
    groups: Sequence[Group], setting: Setting, rows: Iterable[Mapping[str, Any]]
) -> Iterable[PairProgress]:
    tasks = {task.name: task for task in setting.tasks}
    found: dict[int, dict[int, Configured]] = {}
    for row in rows:
        if row["pair"] is not None:
            found.setdefault(row["pair"], {})[row["id"]] = _configured(row)
    for number, group in enumerate(groups):
        yield PairProgress(
            task=tasks.get(group.task, Task(group.task)),
            system=group.system,
            folds=group.folds,
            repeats=group.repeats,
            planned=group.keys,
            ids=group.configuration_ids,
            found=found.get(number, {}),
        )


def _configured(row: Mapping[str, Any]) -> Configured:
    return Configured(
        configuration_id=row["id"],
        configuration=row["configuration"],
        done=row["done"],
        own=row["own"],
        seconds=row["seconds"],
        shared_with=row["shared_with"],
        auc=row["auc"],
        outcomes=_outcomes(row),
    )


def _refits(groups: Sequence[Group], setting: Setting, rows: Sequence[Mapping[str, Any]]) -> Refits:
    untested = {task.name for task in setting.tasks if task.untested}
    return Refits(
        planned=sum(group.repeats * group.refits for group in groups if group.task not in untested),
        done=sum(row["done"] for row in rows),
        outcomes=_total(map(_outcomes, rows)),
    )


def _outcomes(row: Mapping[str, Any]) -> Mapping[str, int]:
    return {name: row[name] for name in OUTCOMES if row[name]}


def _total(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return total
