"""What a run of a study of ensembles found: its evaluations, and means over folds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runner.ensemble.setting import MetataskFacts, Setting, TechniqueFacts
from runner.errors import InputError
from runner.report.page import run_facts
from runner.store import Store, find_run, read_plan

COLUMNS = (
    "outcome",
    "reason",
    "error",
    "score",
    "fit_seconds",
    "predict_seconds",
    "prepare_seconds",
    "wall_seconds",
    "cpu_seconds",
    "peak_mib",
    "shared_with",
    "timing",
    "machine",
)
"""Of a row of the store."""

_RUN = "select study, plan, setting, ended_at from runs where run_id = $run_id"

# A row made with other versions may bear another name; the plan says whose it is.
_ROWS = f"""
with planned as (
    select unnest(planned_keys) as key, unnest(range(len(planned_keys))) as place
    from runs where run_id = $run_id
)
select place, fold, {", ".join(COLUMNS)}
from evaluations join planned using (key) order by place
"""


@dataclass(frozen=True)
class Evaluation:
    """One technique on one fold: the columns of the store (docs/results.md)."""

    task: str
    technique: str
    fold: int
    outcome: str
    reason: str | None
    error: str | None
    score: float | None
    fit_seconds: float | None
    predict_seconds: float | None
    prepare_seconds: float | None
    wall_seconds: float | None
    cpu_seconds: float | None
    peak_mib: float | None
    shared_with: int | None
    timing: str | None
    machine: str | None

    @property
    def seconds(self) -> float:
        """What it took of a slot, as far as it is known."""
        parts = self.prepare_seconds, self.fit_seconds, self.predict_seconds
        return sum(part or 0.0 for part in parts)


@dataclass(frozen=True)
class Outcome:
    """What a run found.

    Attributes:
        finished: Whether the run came to its end.
        planned: How many evaluations it wants.
        folds: How many it wants of a technique on a task, by task.
        evaluations: Those that have a row, by task, technique, fold.
        facts: What was typed, when it ran, on what: pairs of a word and what it is.
    """

    run_id: str
    study: str
    finished: bool
    setting: Setting
    planned: int
    folds: Mapping[str, int]
    evaluations: tuple[Evaluation, ...]
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def tasks(self) -> Sequence[MetataskFacts]:
        """In the study's order."""
        return self.setting.metatasks

    @property
    def techniques(self) -> Sequence[TechniqueFacts]:
        """In the study's order."""
        return self.setting.techniques

    @property
    def by_size(self) -> list[MetataskFacts]:
        """The tasks, those with most rows first."""
        return sorted(self.tasks, key=lambda task: (-task.rows, task.name))

    @cached_property
    def fold_scores(self) -> Mapping[tuple[str, str], Mapping[int, float]]:
        """By technique and task the score of each fold that has one."""
        found: dict[tuple[str, str], dict[int, float]] = {}
        for one in self.evaluations:
            if one.outcome == "ok" and one.score is not None:
                found.setdefault((one.technique, one.task), {})[one.fold] = one.score
        return found

    @cached_property
    def means(self) -> Mapping[str, Mapping[str, float]]:
        """By technique, by task the mean over folds; only where all folds have a score."""
        return {
            technique.name: {
                task.name: statistics.fmean(scores.values())
                for task in self.tasks
                if len(scores := self.fold_scores.get((technique.name, task.name), {}))
                == self.folds[task.name]
            }
            for technique in self.techniques
        }

    @property
    def contenders(self) -> Mapping[str, Mapping[str, float]]:
        """The means of the techniques that don't see the true classes: those that may be ranked."""
        return {one.name: self.means[one.name] for one in self.techniques if not one.oracle}

    def called(self, technique: str) -> str | None:
        """What the study calls a built-in technique; None where it has none."""
        return next((one.name for one in self.techniques if one.technique == technique), None)

    def of(self, task: str | None = None, technique: str | None = None) -> list[Evaluation]:
        """The evaluations of a task, of a technique, or of both."""
        return [
            one
            for one in self.evaluations
            if task in (None, one.task) and technique in (None, one.technique)
        ]


def load_outcome(store: Store, run_id: str | None = None) -> Outcome | None:
    """What a run found; None where it is none of a study of ensembles.

    Args:
        store: Where it is.
        run_id: The run; by default the latest one that planned anything.

    Raises:
        InputError: There is no such run.
    """
    run_id = find_run(store, run_id)
    (run,) = store.query(_RUN, {"run_id": run_id}).to_pylist()
    setting = Setting.from_json(run["setting"])
    if setting is None:
        return None
    groups = read_plan(run["plan"])
    owners = [(group.task, group.system) for group in groups for _ in range(group.keys)]
    rows = store.query(_ROWS, {"run_id": run_id}).to_pylist()
    if len(owners) < len(rows):
        raise InputError(f"the plan of run {run_id} is damaged", file=store.path)
    evaluations = tuple(_evaluation(row, *owners[row.pop("place")]) for row in rows)
    machines = dict.fromkeys(one.machine for one in evaluations if one.machine)
    letters = {machine: chr(ord("A") + place) for place, machine in enumerate(machines)}
    return Outcome(
        run_id=run_id,
        study=run["study"] or "",
        finished=run["ended_at"] is not None,
        setting=setting,
        planned=len(owners),
        folds={group.task: group.folds for group in groups},
        evaluations=evaluations,
        facts=tuple(run_facts(store, run_id, letters)),
    )


def _evaluation(row: dict[str, Any], task: str, technique: str) -> Evaluation:
    return Evaluation(task=task, technique=technique, **row)
