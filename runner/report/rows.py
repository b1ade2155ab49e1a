"""The rows that a report is about: those that one run planned, by task and system."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runner.errors import InputError, suggestion
from runner.mlbench.setting import Setting
from runner.store import Store


@dataclass(frozen=True)
class Row:
    """One evaluation, with the columns of the store (docs/results.md)."""

    key: str
    stage: str
    task_fingerprint: str
    system: str
    configuration: str
    configuration_id: int
    fold: int | None
    repeat: int | None
    outcome: str
    reason: str | None
    score: float | None
    fit_seconds: float | None
    timing: str | None
    machine: str | None
    cpus: int | None
    threads: int | None
    memory_mib: int | None
    quiet: bool | None
    enforced: str | None

    @property
    def fitted(self) -> bool:
        """Whether its sandbox was shrunk to what the machine holds."""
        return bool(json.loads(self.enforced or "{}").get("size") == "fitted")

    @property
    def kind(self) -> str:
        """What its times are: times of two kinds never stand in one table."""
        return f"{self.timing or 'packed'}{' in a shrunk sandbox' if self.fitted else ''}"


@dataclass(frozen=True)
class Pair:
    """One system on one task.

    Attributes:
        cv: Its evaluations in cross-validation that have a row.
        missing: How many of the planned ones have none.
        tests: Its evaluations on the test rows.
        external: The scores that a competition gave back for its configurations.
        untested: Whether the task has no test rows.
    """

    task: str
    system: str
    folds: int
    repeats: int
    cv: tuple[Row, ...]
    missing: int
    tests: tuple[Row, ...]
    external: tuple[Row, ...] = ()
    untested: bool = False


@dataclass(frozen=True)
class Rows:
    """What one run planned and what the store has of it.

    Attributes:
        finished: Whether the run came to its end.
        kinds: Where its times are of several kinds: how many rows are of each.
        kept: The kind whose times are left then.
    """

    run_id: str
    study: str
    finished: bool
    pairs: tuple[Pair, ...]
    kinds: Mapping[str, int] = field(default_factory=dict)
    kept: str | None = None

    def __iter__(self) -> Iterator[Row]:
        for pair in self.pairs:
            yield from pair.cv
            yield from pair.tests


_RUNS = """
select run_id from runs where len(planned_keys) > 0
order by started_at desc nulls last, run_id desc
"""

_RUN = "select study, plan, planned_keys, ended_at, setting from runs where run_id = $run_id"

# By key alone: rows may have been computed by an earlier run, for a study of another name or a
# task called otherwise.
_ROWS = f"""
select {", ".join(Row.__annotations__)}
from evaluations
semi join (select unnest(planned_keys) as key from runs where run_id = $run_id) using (key)
"""

# Entered by hand at any time, so that no run planned them.
_EXTERNAL = f"""
select {", ".join(Row.__annotations__)} from evaluations where stage = 'external'
"""


def load(store: Store, run_id: str | None = None) -> Rows:
    """The rows that a run planned.

    Args:
        store: Where they are.
        run_id: The run; by default the latest one that planned any.

    Raises:
        InputError: There is no such run.
    """
    run_id = find_run(store, run_id)
    (run,) = store.query(_RUN, {"run_id": run_id}).to_pylist()
    rows = [Row(**row) for row in store.query(_ROWS, {"run_id": run_id}).to_pylist()]
    external = [Row(**row) for row in store.query(_EXTERNAL).to_pylist()]
    groups = json.loads(run["plan"] or "[]")
    untested = {task.name for task in Setting.from_json(run["setting"]).tasks if task.untested}
    pairs = tuple(
        replace(pair, untested=pair.task in untested)
        for pair in _pairs(groups, run["planned_keys"], rows, external)
    )
    return Rows(run_id, run["study"] or "", run["ended_at"] is not None, pairs)


def find_run(store: Store, run_id: str | None = None) -> str:
    """The run of that name; by default the latest one that planned anything.

    Raises:
        InputError: There is no such run.
    """
    known = [str(name) for name in store.query(_RUNS)["run_id"].to_pylist()]
    if not known:
        raise InputError("no run is recorded here; `runner sweep` makes one", file=store.path)
    if run_id is None:
        return known[0]
    if run_id not in known:
        raise InputError(f"there is no run {run_id}: {suggestion(run_id, known)}", file=store.path)
    return run_id


def _pairs(
    groups: Sequence[Mapping[str, Any]],
    planned: Sequence[str],
    rows: Iterable[Row],
    external: Sequence[Row],
) -> Iterator[Pair]:
    by_key = {row.key: row for row in rows}
    tests = [row for row in by_key.values() if row.stage == "test"]
    start = 0
    for group in groups:
        keys = planned[start : start + group["keys"]]
        start += group["keys"]
        numbers = group.get("configuration_ids") or [None]
        cv = tuple(
            _numbered(by_key[key], numbers[index // group["folds"] % len(numbers)])
            for index, key in enumerate(keys)
            if key in by_key
        )
        yield Pair(
            task=group["task"],
            system=group["system"],
            folds=group["folds"],
            repeats=group["repeats"],
            cv=cv,
            missing=len(keys) - len(cv),
            tests=tuple(_alike(tests, group["system"], cv)),
            external=tuple(_alike(external, group["system"], cv)),
        )


def _alike(rows: Iterable[Row], system: str, cv: Sequence[Row]) -> Iterator[Row]:
    """Those of a system on the task of ``cv``, with the configurations' numbers of there."""
    fingerprints = {row.task_fingerprint for row in cv}
    number = {row.configuration: row.configuration_id for row in cv}
    for row in rows:
        if row.system == system and row.task_fingerprint in fingerprints:
            yield _numbered(row, number.get(row.configuration))


def _numbered(row: Row, number: int | None) -> Row:
    """The row with its configuration's number in the run at hand, where the run says it."""
    return row if number in (None, row.configuration_id) else replace(row, configuration_id=number)
