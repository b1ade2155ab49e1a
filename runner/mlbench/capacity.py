"""Capacity and universality of models and platforms (mlbench, section 2.3)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Capacities:
    """What each model is capable of in each competition.

    Attributes:
        models: Their names.
        tasks: The competitions in which any model has a rank.
        values: ``(models, tasks)``: c(M, T), the least quality tolerance (percent) that the model
            meets; None where it has no rank.
    """

    models: tuple[str, ...]
    tasks: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]

    @classmethod
    def of(
        cls,
        tolerances: Mapping[tuple[str, str], float],
        models: Iterable[str],
        tasks: Iterable[str],
    ) -> Capacities:
        """From the quality tolerance (percent) that each model meets in each task.

        Args:
            tolerances: By model and task, for those that have a rank.
            models: All models, in order.
            tasks: All tasks, in order; those without any rank are dropped.
        """
        ranked = {task for _, task in tolerances}
        kept = tuple(task for task in tasks if task in ranked)
        names = tuple(models)
        rows = (tuple(tolerances.get((model, task)) for task in kept) for model in names)
        return cls(names, kept, tuple(rows))

    def without(self, tasks: Collection[str]) -> Capacities:
        """The same with some tasks left out; names that aren't among the tasks don't matter."""
        kept = [index for index, task in enumerate(self.tasks) if task not in tasks]
        return Capacities(
            self.models,
            tuple(self.tasks[index] for index in kept),
            tuple(tuple(row[index] for index in kept) for row in self.values),
        )

    def capacity(self, model: str, task: str) -> float | None:
        """c(M, T); None where the model has no rank."""
        if model not in self.models or task not in self.tasks:
            return None
        return self.values[self.models.index(model)][self.tasks.index(task)]

    def platform_capacity(self, platform: Iterable[str], task: str) -> float | None:
        """c(platform, T), the least of its models' capacities; None where none has a rank.

        Args:
            platform: The models that it provides.
            task: The competition.
        """
        found = (self.capacity(model, task) for model in platform)
        return min((value for value in found if value is not None), default=None)

    def best(self, platform: Iterable[str], task: str) -> tuple[str, ...]:
        """The models whose capacity is the platform's, all of them where several are tied."""
        names = tuple(platform)
        least = self.platform_capacity(names, task)
        if least is None:
            return ()
        return tuple(model for model in names if self.capacity(model, task) == least)

    def overall_capacity(self, platform: Iterable[str]) -> float | None:
        """c(platform, all T), the greatest of its capacities over the tasks.

        None where it has no rank in one of them: there is no tolerance that it is known to meet in
        all.
        """
        names = tuple(platform)
        found = [self.platform_capacity(names, task) for task in self.tasks]
        known = [value for value in found if value is not None]
        return max(known) if known and len(known) == len(found) else None

    def reached(self, model: str, tolerance: float) -> frozenset[str]:
        """K(M, tau): the tasks in which the model meets the tolerance."""
        return frozenset(
            task
            for task in self.tasks
            if (value := self.capacity(model, task)) is not None and value <= tolerance
        )

    def universality(self, platform: Iterable[str], tolerance: float) -> int:
        """u(platform, tau), and u(M, tau) for a platform of one model.

        The number of tasks in which at least one model meets the tolerance.
        """
        return len(frozenset().union(*(self.reached(model, tolerance) for model in platform)))


@dataclass(frozen=True)
class Step:
    """From ``tolerance`` (percent) on, that few models do; up to the next step.

    Attributes:
        models: A smallest set with which the tolerance is met in every task.
    """

    tolerance: float
    models: tuple[str, ...]


def tolerance_curve(capacities: Capacities, platform: Sequence[str]) -> tuple[Step, ...]:
    """How many of a platform's models are needed to meet a tolerance in every task (figure 1).

    Args:
        capacities: Of all models, without the tasks to leave out.
        platform: The models that it provides.

    Returns:
        The steps of a falling curve, the first of them at c(platform, all T); none where the
        platform has no rank in one of the tasks.
    """
    first = capacities.overall_capacity(platform)
    if first is None:
        return ()
    known = {capacities.capacity(model, task) for model in platform for task in capacities.tasks}
    steps: list[Step] = []
    for tolerance in sorted(value for value in known if value is not None and value >= first):
        models = models_needed(capacities, platform, tolerance)
        # More tolerance never needs more models.
        if models is not None and (not steps or len(models) < len(steps[-1].models)):
            steps.append(Step(tolerance, models))
    return tuple(steps)


def models_needed(
    capacities: Capacities, platform: Sequence[str], tolerance: float
) -> tuple[str, ...] | None:
    """A smallest set of models of which, in every task, one meets the tolerance.

    Exact: the sets of tasks that k models reach together are listed for k = 1, 2, ... until one of
    them is all tasks; there are at most 2^min(models, tasks) of them. Among sets of models equally
    small it is the one whose models come first in the platform.

    Returns:
        The models, in the platform's order; None where all of them together don't reach all tasks.
    """
    wanted = frozenset(capacities.tasks)
    reached = {model: capacities.reached(model, tolerance) for model in platform}
    frontier: dict[frozenset[str], tuple[str, ...]] = {frozenset(): ()}
    while wanted not in frontier:
        wider: dict[frozenset[str], tuple[str, ...]] = {}
        for tasks, models in frontier.items():
            for model, more in reached.items():
                if not more <= tasks:
                    wider.setdefault(tasks | more, (*models, model))
        if not wider:
            return None
        frontier = wider
    return tuple(model for model in platform if model in frontier[wanted])


def hardest_first(capacities: Capacities, platform: Sequence[str]) -> tuple[str, ...]:
    """The tasks in the order in which leaving one out improves c(platform, all T) most.

    Those in which the platform has no rank come first; ties keep the tasks' order.
    """
    found = {task: capacities.platform_capacity(platform, task) for task in capacities.tasks}
    return tuple(sorted(found, key=lambda task: (found[task] is not None, -(found[task] or 0.0))))


def versions(
    capacities: Capacities, platform: Sequence[str], without: Sequence[str] | None = None
) -> tuple[tuple[str, ...], ...]:
    """The tasks that figure 1 leaves out: none, one, two, ... of them.

    Args:
        capacities: Of all models.
        platform: The models of the platform whose hardest tasks are left out by default, two of
            them as long as any others remain.
        without: The tasks to leave out one after the other instead.
    """
    if without is None:
        without = hardest_first(capacities, platform)[: min(2, len(capacities.tasks) - 1)]
    return tuple(tuple(without[:count]) for count in range(len(without) + 1))
