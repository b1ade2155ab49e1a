"""Which systems are worth their time: the Pareto front of AUC and training time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from runner.mlbench.study import Study, Time


@dataclass(frozen=True)
class Point:
    """Something that reaches an AUC in a time."""

    name: str
    auc: float
    seconds: float

    def dominates(self, other: Point) -> bool:
        """Whether it is as good in both respects and better in one."""
        return (
            self.auc >= other.auc
            and self.seconds <= other.seconds
            and (self.auc, self.seconds) != (other.auc, other.seconds)
        )


def pareto_front(points: Iterable[Point]) -> tuple[Point, ...]:
    """The points that no other dominates, fastest first; of equal ones all."""
    front: list[Point] = []
    for point in sorted(points, key=lambda point: (point.seconds, -point.auc)):
        if not front or not front[-1].dominates(point):
            front.append(point)
    return tuple(front)


def task_front(study: Study, task: str, time: Time = "total") -> tuple[Point, ...]:
    """The front of the systems that have a time and a test AUC on a task.

    Args:
        study: What was found.
        task: Its name.
        time: ``total`` of the whole grid, what finding the configuration took; or ``average``.
    """
    results = (study.result(task, system.name) for system in study.systems)
    return pareto_front(
        Point(result.system, result.auc, seconds)
        for result in results
        if result.auc is not None and (seconds := result.seconds(time)) is not None
    )
