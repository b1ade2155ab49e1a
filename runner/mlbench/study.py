"""What a study found, in a form that printed numbers and a store's rows both fill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from runner.mlbench.capacity import Capacities
from runner.mlbench.leaderboard import Leaderboard, quality_tolerance

Time = Literal["total", "average"]
LOGISTIC_REGRESSION = "C-LR"
"""The model that table 10 compares across platforms."""
MODELS: Mapping[str, str] = {"A-LR": LOGISTIC_REGRESSION}
"""Systems that are another platform's version of a model; the others are models of their own."""


@dataclass(frozen=True)
class Winning:
    """The winning code of a competition.

    Attributes:
        auc: Its AUC on the competition's test set.
        rank: On the private leaderboard; the code need not be the best team's.
        model: What it is, in words.
    """

    auc: float | None = None
    rank: int | None = None
    model: str | None = None


@dataclass(frozen=True)
class Submission:
    """How predictions are handed in of test rows whose labels only the competition has.

    Attributes:
        fingerprint: The task's, under which a store has its rows.
        header: What the file calls its rows and their probabilities.
    """

    fingerprint: str
    header: tuple[str, str]


@dataclass(frozen=True)
class Task:
    """A data set, and the competition it is from where there is one.

    Attributes:
        rows: Of the training set.
        test_rows: 0 where the task has folds of its own instead; None where nobody says.
        teams: That took part in the competition.
        printed_high: The AUC at tolerance 10 % as somebody printed it, for want of a leaderboard.
        submission: How its predictions are handed in; None where its test labels are known.
    """

    name: str
    rows: int | None = None
    test_rows: int | None = None
    features: int | None = None
    teams: int | None = None
    winning: Winning | None = None
    leaderboard: Leaderboard | None = None
    printed_high: float | None = None
    submission: Submission | None = None

    @property
    def untested(self) -> bool:
        """Whether it has no test rows: what it brings are folds of its own."""
        return self.test_rows == 0

    def auc_at(self, tolerance: float) -> float | None:
        """The AUC that quality tolerance (percent) takes; None where it isn't known."""
        if self.leaderboard is not None:
            return self.leaderboard.score_at(tolerance)
        return self.printed_high if tolerance == 10 else None

    @property
    def winning_tolerance(self) -> float | None:
        """The winning code's capacity in percent."""
        if self.winning is None or self.winning.rank is None or self.teams is None:
            return None
        return quality_tolerance(self.winning.rank, self.teams)


@dataclass(frozen=True)
class System:
    """A system under test.

    Attributes:
        model: The kind of model it trains; two platforms' systems may train the same.
        linear: Whether its decision boundary is linear; None where that isn't known.
    """

    name: str
    model: str
    linear: bool | None = None


@dataclass(frozen=True)
class Result:
    """One system on one task.

    Attributes:
        configurations: How many were tried, those whose times ``total_seconds`` sums.
        configuration: The selected one, as JSON.
        cv_auc: Its mean AUC in cross-validation.
        fold_aucs: Its AUC in each fold, in order.
        auc: On the test set, of the selected configuration fitted to all training rows.
        rank: What that AUC would have been ranked on the private leaderboard.
        external: Whether the competition itself gave that AUC, for predictions sent to it.
        awaited: Whether predictions are ready to be sent, and no AUC has come back.
        total_seconds: Training, summed over configurations and folds, refits apart.
        why: Of what is missing, the reason.
    """

    task: str
    system: str
    configurations: int | None = None
    configuration: str | None = None
    cv_auc: float | None = None
    fold_aucs: tuple[float, ...] = ()
    auc: float | None = None
    rank: int | None = None
    external: bool = False
    awaited: bool = False
    total_seconds: float | None = None
    why: str = ""

    @property
    def average_seconds(self) -> float | None:
        """Training time of a configuration in the mean, summed over its folds."""
        if self.total_seconds is None or not self.configurations:
            return None
        return self.total_seconds / self.configurations

    def seconds(self, time: Time) -> float | None:
        """Total or average training time."""
        return self.total_seconds if time == "total" else self.average_seconds


@dataclass(frozen=True)
class Missing:
    """A value that a study lacks.

    Attributes:
        value: ``auc``, ``rank`` or ``seconds``.
    """

    task: str
    system: str
    value: str
    why: str


@dataclass(frozen=True)
class Study:
    """The outcome of a study.

    Attributes:
        tasks: In the order in which tables list them.
        systems: The same.
        platforms: Names of systems by the platform that provides them.
        results: One for each task and system at most.
        remarks: What a reader must know of the times.
    """

    name: str
    tasks: tuple[Task, ...]
    systems: tuple[System, ...]
    platforms: Mapping[str, tuple[str, ...]]
    results: tuple[Result, ...]
    remarks: tuple[str, ...] = ()

    @cached_property
    def _by_pair(self) -> Mapping[tuple[str, str], Result]:
        return {(result.task, result.system): result for result in self.results}

    def result(self, task: str, system: str) -> Result:
        """That system's result on that task; one without any value where there is none."""
        found = self._by_pair.get((task, system))
        return Result(task, system, why="no result") if found is None else found

    def task(self, name: str) -> Task:
        """The task of that name.

        Raises:
            KeyError: There is none.
        """
        return self._tasks[name]

    def system(self, name: str) -> System:
        """The system of that name.

        Raises:
            KeyError: There is none.
        """
        return self._systems[name]

    @cached_property
    def _systems(self) -> Mapping[str, System]:
        return {system.name: system for system in self.systems}

    @cached_property
    def _tasks(self) -> Mapping[str, Task]:
        return {task.name: task for task in self.tasks}

    def tolerance(self, result: Result) -> float | None:
        """The quality tolerance (percent) that a result meets; None where it has no rank."""
        teams = self.task(result.task).teams
        if result.rank is None or teams is None:
            return None
        return quality_tolerance(result.rank, teams)

    @cached_property
    def capacities(self) -> Capacities:
        """c(M, T) of all systems, with the tasks in which any of them has a rank."""
        found = {}
        for task in self.tasks:
            for system in self.systems:
                tolerance = self.tolerance(self.result(task.name, system.name))
                if tolerance is not None:
                    found[system.name, task.name] = tolerance
        return Capacities.of(
            found,
            models=[system.name for system in self.systems],
            tasks=[task.name for task in self.tasks],
        )

    def best(self, systems: Iterable[str], task: str) -> tuple[Result, ...]:
        """The best of some systems on a task, all of them where several are tied.

        By rank where there are ranks, since printed AUCs are rounded, and by AUC.
        """
        found = [self.result(task, system) for system in systems]
        ranks = [result.rank for result in found if result.rank is not None]
        if ranks:
            found = [result for result in found if result.rank == min(ranks)]
        aucs = [result.auc for result in found if result.auc is not None]
        return tuple(result for result in found if aucs and result.auc == max(aucs))

    def by_size(self) -> tuple[Task, ...]:
        """The tasks ordered by training rows; those of unknown size last."""
        return tuple(sorted(self.tasks, key=lambda task: (task.rows is None, task.rows or 0)))

    def missing(self) -> Iterator[Missing]:
        """The values that the study lacks, system by system."""
        for system in self.systems:
            for task in self.tasks:
                result = self.result(task.name, system.name)
                values = {"auc": result.auc, "seconds": result.total_seconds}
                if task.teams is not None:
                    values["rank"] = result.rank
                for name, value in values.items():
                    if value is None:
                        yield Missing(task.name, system.name, name, result.why)
