"""Whether a condition holds, as far as estimates with half-widths can tell (appendix A.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Literal

from runner.ci.condition import Clause, Condition, Variable, exact

Mode = Literal["fp-free", "fn-free"]
MODES: tuple[Mode, ...] = ("fp-free", "fn-free")

Estimates = Mapping[Variable, Fraction | float]
"""The share of rows by variable; a fraction is a count over the number of rows."""


class Truth(Enum):
    """Kleene's three values."""

    FALSE = "false"
    UNKNOWN = "unknown"
    TRUE = "true"


@dataclass(frozen=True)
class Interval:
    """All values from low to high, both included."""

    low: Fraction
    high: Fraction

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __mul__(self, factor: Fraction) -> Interval:
        ends = (self.low * factor, self.high * factor)
        return Interval(min(ends), max(ends))


def left_side(clause: Clause, estimates: Estimates) -> Interval:
    """The values that a clause's left side may have: its estimate, give or take the tolerance.

    Interval algebra over its variables, each with the half-width that makes the sum's equal to the
    tolerance (:attr:`Clause.half_width`).

    Raises:
        KeyError: If a variable of the clause has no estimate.
    """
    coefficients = clause.exact_coefficients
    half_width = exact(clause.tolerance) / sum(abs(c) for c in coefficients.values())
    total = Interval(Fraction(0), Fraction(0))
    for name, coefficient in coefficients.items():
        estimate = exact(estimates[name])
        total += Interval(estimate - half_width, estimate + half_width) * coefficient
    return total


def clause_truth(clause: Clause, estimates: Estimates) -> Truth:
    """Whether a clause holds.

    An estimate at exactly threshold + tolerance or threshold - tolerance decides nothing: the
    paper leaves that open, and Unknown is the answer that either mode may bend its way.
    """
    values = left_side(clause, estimates)
    return truth_between(clause, values.low, values.high)


def truth_between(clause: Clause, low: Fraction, high: Fraction) -> Truth:
    """Whether a clause holds whose left side lies between two values, both included."""
    threshold = exact(clause.threshold)
    above, below = low > threshold, high < threshold
    if clause.comparison == "<":
        above, below = below, above
    return Truth.TRUE if above else Truth.FALSE if below else Truth.UNKNOWN


def conjunction(truths: Iterable[Truth]) -> Truth:
    """Kleene's "and": false if any is, true if all are."""
    found = set(truths)
    for worst in (Truth.FALSE, Truth.UNKNOWN):
        if worst in found:
            return worst
    return Truth.TRUE


def condition_truth(condition: Condition, estimates: Estimates) -> Truth:
    """Whether all clauses hold."""
    return conjunction(clause_truth(clause, estimates) for clause in condition.clauses)


def passes(truth: Truth, mode: Mode) -> bool:
    """What a mode makes of a truth: ``fp-free`` rejects what is unknown, ``fn-free`` accepts it."""
    return truth is Truth.TRUE or (truth is Truth.UNKNOWN and mode == "fn-free")
