"""Regimes of quality tolerance (mlbench, section 5.2.3) and the heat map of figure 6."""

from __future__ import annotations

import math
from dataclasses import dataclass

from runner.errors import InputError
from runner.mlbench.capacity import Capacities

REGIMES = ("low", "middle", "high", "outside")


@dataclass(frozen=True)
class Thresholds:
    """Where the regimes of quality tolerance end, in percent.

    A model is in the regime of the most demanding users that it satisfies: low asks for less than
    ``low``, middle for ``low`` to ``middle``, high for more than that and up to ``high``.
    """

    low: float = 1.0
    middle: float = 5.0
    high: float = 10.0

    def __post_init__(self) -> None:
        ends = (self.low, self.middle, self.high)
        if not all(map(math.isfinite, ends)) or not 0 < self.low < self.middle < self.high <= 100:
            raise InputError(
                "the regimes' thresholds must rise within 0 and 100, such as 1, 5, 10, not "
                + ", ".join(f"{end:g}" for end in ends)
            )

    def regime(self, capacity: float) -> str:
        """The regime of ``REGIMES`` that a capacity (percent) meets."""
        # A user asking for less than 1 isn't satisfied by 1, one asking for 5 is by 5.
        if capacity < self.low:
            return "low"
        if capacity <= self.middle:
            return "middle"
        return "high" if capacity <= self.high else "outside"


@dataclass(frozen=True)
class Cell:
    """A cell of the heat map.

    Attributes:
        capacity: c(M, T) in percent; None where the model has no rank.
        regime: Of ``REGIMES``; None where the model has no rank.
    """

    model: str
    task: str
    capacity: float | None
    regime: str | None


def heat_map(capacities: Capacities, thresholds: Thresholds | None = None) -> tuple[Cell, ...]:
    """A cell for every model and task, model by model."""
    limits = thresholds or Thresholds()
    return tuple(
        Cell(model, task, value, None if value is None else limits.regime(value))
        for model, row in zip(capacities.models, capacities.values, strict=True)
        for task, value in zip(capacities.tasks, row, strict=True)
    )
