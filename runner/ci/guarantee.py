"""What a test set is to promise."""

from __future__ import annotations

from dataclasses import dataclass, field

from runner.ci.condition import Condition
from runner.ci.intervals import Mode
from runner.ci.metrics import Facts
from runner.ci.multiplicity import Reuse


@dataclass(frozen=True)
class Guarantee:
    """A condition, how surely it is to be judged, and how often.

    Attributes:
        delta: The probability with which any verdict of all steps may be wrong in the way that the
            mode rules out: 1 - reliability.
        difference: The most that the predictions of the old and the new model are taken to differ,
            a share of rows; None where nothing is known beforehand.
        facts: What is known of the task beforehand, for metrics other than accuracy.
    """

    condition: Condition
    delta: float
    mode: Mode
    reuse: Reuse
    difference: float | None = None
    facts: Facts = field(default_factory=Facts)
