"""From a study to its evaluations: what is to be computed, under which keys, in which fits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from runner.config import SweepStudy
from runner.data import PREPARATION_VERSION, Split, Task, prepared_columns, uses_target_encoder
from runner.models import Family
from runner.store.key import key
from runner.study import library_versions

METRIC = "auc"
CV = "cv"
TEST = "test"


@dataclass(frozen=True)
class Planned:
    """One evaluation of the plan."""

    key: str
    stage: str
    task: int
    system: str
    configuration_id: int
    configuration: Mapping[str, Any]
    fold: int | None
    repeat: int


@dataclass(frozen=True)
class Pair:
    """One system on one task, within which a configuration is selected.

    Attributes:
        cv: The evaluations of all configurations and folds, repeats among them.
        tests: For each configuration_id the evaluations that would score it on the test rows, one
            for each repeat; none where the task has no test rows.
    """

    task: int
    system: str
    cv: tuple[Planned, ...]
    tests: Mapping[int, tuple[Planned, ...]]

    @property
    def evaluations(self) -> Iterator[Planned]:
        """All that may come to be wanted."""
        yield from self.cv
        for repeats in self.tests.values():
            yield from repeats


class Plan:
    """All evaluations of a sweep and the fits that they share.

    Args:
        study: The study.
        tasks: Its tasks, in the study's order.
        splits: Their folds and test rows.
        cpus: Cores in force, which may be fewer than the study asks for (``--fit-sandbox``).

    Attributes:
        threads: What a fit may use of them.
        families: By the systems' names.
    """

    def __init__(
        self, study: SweepStudy, tasks: Sequence[Task], splits: Sequence[Split], *, cpus: int
    ):
        self.study = study
        self.tasks = tuple(tasks)
        self.splits = tuple(splits)
        self.cpus = cpus
        self.threads = min(study.threads, cpus)
        self.families = {entry.name: entry.family for entry in study.systems}

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        return tuple(
            self._pair(task, entry.name, entry.configurations)
            for task in range(len(self.tasks))
            for entry in self.study.systems
        )

    def fits(self, evaluations: Sequence[Planned]) -> Iterator[tuple[Planned, ...]]:
        """The evaluations in groups, each of which one fit serves, in the fit's order.

        All are of one task and system. Without ``share_fits`` every group is a single one.
        """
        if not self.study.share_fits:
            yield from ((evaluation,) for evaluation in evaluations)
            return
        by_rows: dict[tuple[int, int | None], dict[int, Planned]] = {}
        for evaluation in evaluations:
            rows = evaluation.repeat, evaluation.fold
            by_rows.setdefault(rows, {})[evaluation.configuration_id] = evaluation
        for members in by_rows.values():
            model = self.families[next(iter(members.values())).system]
            configurations = [(i, dict(e.configuration)) for i, e in members.items()]
            for group in model.fits(configurations):
                yield tuple(members[i] for i, _ in group)

    def folds(self, task: int) -> int:
        """Of a task's cross-validation: the study's, or those that the task brings."""
        own = self.tasks[task].folds
        return self.study.folds if own is None else self.splits[task].folds

    def refits(self, pair: Pair) -> int:
        """How many of a pair's configurations are scored on the test rows, if as many complete."""
        if not len(self.splits[pair.task].test_rows):
            return 0
        most = len(pair.tests)
        return most if self.study.refit is None else min(self.study.refit, most)

    def arrays_name(self, task: int) -> str:
        """The name under which the task's arrays, with this study's folds, travel to the nodes."""
        return hashlib.sha256(
            f"{self.tasks[task].fingerprint} {self._splits_digests[task]}".encode()
        ).hexdigest()[:32]

    def versions(self, task: int, system: str) -> dict[str, str | int]:
        """The versions that the numbers of a system on a task rest on: the key's suffix."""
        model = self.families[system]
        libraries = set(model.libraries)
        if uses_target_encoder(self.tasks[task]):
            libraries.add("scikit-learn")
        return {
            system: model.version,
            "preparation": PREPARATION_VERSION,
            **library_versions(sorted(libraries)),
        }

    def cost(self, task: int, system: str, configuration: Mapping[str, Any]) -> float:
        """Predicted seconds of one configuration's fit on one fold, by the family's cost model."""
        rows = len(self.splits[task].train_rows) * (1 - 1 / self.folds(task))
        return self.families[system].cost(configuration, int(rows), self._columns[task])

    @cached_property
    def _columns(self) -> tuple[int, ...]:
        return tuple(prepared_columns(task) for task in self.tasks)

    @cached_property
    def _splits_digests(self) -> tuple[str, ...]:
        return tuple(
            hashlib.sha256(np.ascontiguousarray(split.fold).tobytes()).hexdigest()
            for split in self.splits
        )

    def _pair(
        self, task: int, system: str, configurations: Sequence[tuple[int, Mapping[str, Any]]]
    ) -> Pair:
        make = _Maker(self, task, self.families[system])
        return Pair(
            task,
            system,
            cv=tuple(
                make(CV, i, configuration, fold, repeat)
                for repeat in range(self.study.repeats)
                for i, configuration in configurations
                for fold in range(self.folds(task))
            ),
            tests={
                i: tuple(
                    make(TEST, i, configuration, None, repeat)
                    for repeat in range(self.study.repeats)
                    if len(self.splits[task].test_rows)
                )
                for i, configuration in configurations
            },
        )

    def identity(self, task: int, system: str) -> dict[str, Any]:
        """What determines the scores of a system on a task, besides stage, configuration, fold,
        repeat.

        The folds enter by their content, so that another scikit-learn with another shuffle
        makes other keys.
        """
        study = self.study
        own = self.tasks[task].folds is not None
        origin = self.families[system].origin
        return {
            **({} if origin is None else {"estimator": origin}),
            "task": self.tasks[task].fingerprint,
            "split": self._splits_digests[task],
            "folds": self.folds(task),
            "holdout": None if own else study.holdout,
            "seed": study.seed,
            "system": system,
            "metric": METRIC,
            "cpus": self.cpus,
            "threads": self.threads,
            "timing": study.timing,
            "share_fits": study.share_fits,
        }


class _Maker:
    """Makes the planned evaluations of one task and system."""

    def __init__(self, plan: Plan, task: int, model: Family):
        self._task = task
        self._system = model.name
        self._identity = plan.identity(task, model.name)
        self._versions = plan.versions(task, model.name)

    def __call__(
        self,
        stage: str,
        configuration_id: int,
        configuration: Mapping[str, Any],
        fold: int | None,
        repeat: int,
    ) -> Planned:
        identity = {
            **self._identity,
            "stage": stage,
            "configuration": dict(configuration),
            "fold": fold,
            "repeat": repeat,
        }
        return Planned(
            key(identity, self._versions),
            stage,
            self._task,
            self._system,
            configuration_id,
            configuration,
            fold,
            repeat,
        )


def configuration_text(configuration: Mapping[str, Any]) -> str:
    """The configuration as the store writes it: JSON with sorted keys."""
    return json.dumps(configuration, sort_keys=True)
