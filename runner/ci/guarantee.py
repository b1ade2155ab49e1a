"""What a test set is to promise."""

from __future__ import annotations

from dataclasses import dataclass

from runner.ci.condition import Condition
from runner.ci.intervals import Mode
from runner.ci.multiplicity import Reuse


@dataclass(frozen=True)
class Guarantee:
    """A condition, how surely it is to be judged, and how often.

    Attributes:
        delta: The probability with which any verdict of all steps may be wrong in the way that the
            mode rules out: 1 - reliability.
        difference: The most that the predictions of the old and the new model are taken to differ,
            a share of rows; None where nothing is known beforehand.
    """

    condition: Condition
    delta: float
    mode: Mode
    reuse: Reuse
    difference: float | None = None
