"""Which runs a store has, and which of them is meant."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from runner.errors import InputError, suggestion
from runner.store.results import Store

SWEEP = "sweep"
"""The kind of a run whose setting says none."""

# The plan says it sooner than a million keys do.
_RUNS = """
select run_id, coalesce(study, '') as study, setting from runs where plan <> '[]'
order by started_at desc nulls last, run_id desc
"""


@dataclass(frozen=True)
class RecordedRun:
    """A run that planned anything.

    Attributes:
        study: The name of its study.
        kind: Of the study, such as ``sweep`` or ``ensembles``.
    """

    run_id: str
    study: str
    kind: str


def recorded_runs(store: Store) -> tuple[RecordedRun, ...]:
    """The runs that planned anything, the latest one first."""
    return tuple(
        RecordedRun(row["run_id"], row["study"], _kind(row["setting"]))
        for row in store.query(_RUNS).to_pylist()
    )


def find_run(store: Store, name: str | None = None, kind: str | None = None) -> str:
    """The id of the run of that name; by default of the latest one that planned anything.

    Args:
        store: Where it is.
        name: The run's id, or a study's name for the latest run of that.
        kind: Of which kind of study it is to be; None for any.

    Raises:
        InputError: There is no such run.
    """
    runs = recorded_runs(store)
    fitting = [run for run in runs if kind in (None, run.kind)]
    if not fitting:
        raise InputError(_none(runs, kind), file=store.path)
    if name is None:
        return fitting[0].run_id
    for run in fitting:
        if run.run_id == name:
            return name
    for run in fitting:
        if run.study == name:
            return run.run_id
    known = [*dict.fromkeys(run.study for run in fitting), *(run.run_id for run in fitting)]
    other = next((run for run in runs if name in (run.run_id, run.study)), None)
    if other is not None:
        text = f"{name} is of kind {other.kind}, not {kind}: the choice is {', '.join(known)}"
    else:
        text = f"there is no run and no study {name}: {suggestion(name, known)}"
    raise InputError(text, file=store.path)


def other_studies(store: Store, run_id: str) -> tuple[RecordedRun, ...]:
    """The latest run of each study in a store that isn't a run's, such as those merged into it.

    Studies of one name but different kinds are two.

    Args:
        store: Where they are.
        run_id: The run's id.
    """
    runs = recorded_runs(store)
    found: dict[tuple[str, str], RecordedRun] = {}
    for run in runs:
        found.setdefault((run.study, run.kind), run)
    own = {(run.study, run.kind) for run in runs if run.run_id == run_id}
    return tuple(run for place, run in found.items() if place not in own)


def _kind(setting: str | None) -> str:
    return str(json.loads(setting or "{}").get("kind", SWEEP))


def _none(runs: Sequence[RecordedRun], kind: str | None) -> str:
    if not runs:
        return "no run is recorded here; `runner sweep` makes one"
    kinds = ", ".join(dict.fromkeys(run.kind for run in runs))
    return f"no run of kind {kind} is recorded here, only of kind {kinds}"
