"""One run of a sweep: its tasks and plan, handed to the run of all studies."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from runner.config import SweepStudy, load_tasks
from runner.data import arrays
from runner.engine import Job, Observer
from runner.store import Store, Wanted
from runner.study import Options, Served, StudyRun, StudySummary, Workload
from runner.sweep import work
from runner.sweep.costs import cost_model
from runner.sweep.plan import Plan
from runner.sweep.setting import setting
from runner.sweep.source import SweepSource
from runner.sweep.test_rows import TestRows


@dataclass(frozen=True)
class SweepSummary(StudySummary):
    """How a run ended.

    Attributes:
        unselected: The (task, system) without a configuration whose folds are all ok.
    """

    unselected: tuple[tuple[str, str], ...]


class Sweep(StudyRun[SweepSource]):
    """A study ready to be run: its tasks are loaded, its plan made, its store opened.

    Args:
        study: The study.
        options: How to run it.

    Raises:
        InputError: The tasks or the results folder aren't what the study says.
        CannotRunError: No node can hold one sandbox.
    """

    def __init__(self, study: SweepStudy, options: Options):
        tasks, splits = load_tasks(study)
        super().__init__(
            study, options, lambda cpus: _Subject(Plan(study, tasks, splits, cpus=cpus))
        )

    def best(self) -> Mapping[tuple[str, str], float]:
        """The best mean score so far by task and system."""
        return self._source.best()

    def run(self, observer: Observer) -> SweepSummary:
        """Compute what is missing; rows are in the store as soon as their jobs end."""
        summary = super().run(observer)
        found = {field.name: getattr(summary, field.name) for field in dataclasses.fields(summary)}
        return SweepSummary(**found, unselected=tuple(self._source.unselected))


class _Subject:
    """What a run needs to know of a sweep's plan."""

    def __init__(self, plan: Plan):
        self._plan = plan
        self._test_rows = TestRows(plan)

    @property
    def planned(self) -> int:
        refits = sum(map(self._plan.refits, self._plan.pairs)) * self._plan.study.repeats
        return sum(len(pair.cv) for pair in self._plan.pairs) + refits

    @property
    def keys(self) -> Sequence[str]:
        return [evaluation.key for pair in self._plan.pairs for evaluation in pair.evaluations]

    def versions(self, system: str) -> Mapping[str, str | int]:
        found: dict[str, str | int] = {}
        for task in range(len(self._plan.tasks)):
            found |= self._plan.versions(task, system)
        return found

    def notes(self) -> Sequence[str]:
        return [*self._own_folds(), *self._test_rows.notes()]

    def _own_folds(self) -> Iterator[str]:
        for index, task in enumerate(self._plan.tasks):
            if task.folds is not None:
                yield (
                    f"{task.name} brings {self._plan.folds(index)} folds of its own: the study's "
                    "`folds` and `holdout` don't apply to it, and its AUC is that of "
                    "cross-validation"
                )

    def wanted(self, stored: Callable[[str], str]) -> tuple[Wanted, ...]:
        study = self._plan.study
        return tuple(
            Wanted(
                task=self._plan.tasks[pair.task].name,
                system=pair.system,
                folds=self._plan.folds(pair.task),
                repeats=study.repeats,
                keys=tuple(stored(evaluation.key) for evaluation in pair.cv),
                configuration_ids=tuple(pair.tests),
                refits=self._plan.refits(pair),
            )
            for pair in self._plan.pairs
        )

    def setting(self) -> str:
        return setting(self._plan).to_json()

    def source(
        self, served: Mapping[str, Served], attempts: Mapping[str, int], store: Store
    ) -> SweepSource:
        return SweepSource(self._plan, served, attempts, cost_model(self._plan, store))

    def workload(self, jobs: Sequence[Job]) -> Workload:
        systems = {job.evaluations[0].columns["system"]: None for job in jobs}
        modules = (module for name in systems for module in self._plan.families[name].preload)
        used = {job.arrays for job in jobs}
        return Workload(
            function=work.FUNCTION,
            warm_up=work.WARM_UP,
            preload=tuple(dict.fromkeys((*work.PRELOAD, *modules))),
            threads=self._plan.threads,
            arrays={
                name: arrays(task, split)
                for index, (task, split) in enumerate(
                    zip(self._plan.tasks, self._plan.splits, strict=True)
                )
                if (name := self._plan.arrays_name(index)) in used
            },
        )

    def kept(self, predictions: pa.Table) -> pa.Table:
        return self._test_rows.named(predictions)
