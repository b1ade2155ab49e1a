"""A condition on two models: a conjunction of clauses, each a comparison of a linear form."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from runner.ci.metrics import RANK, metric_of

Variable = str
"""``n``, ``o``, ``d``, or a metric of a model such as ``f1(n)``."""
Comparison = Literal[">", "<"]

VARIABLES: Mapping[Variable, str] = {
    "n": "accuracy of the new model",
    "o": "accuracy of the old model",
    "d": "share of rows on which their predictions differ",
}


def exact(number: float | Fraction) -> Fraction:
    """A number as it was written: 0.1 is one tenth, not the nearest binary fraction.

    Comparisons at a clause's very limits come out right only so.
    """
    return number if isinstance(number, Fraction) else Fraction(repr(float(number)))


@dataclass(frozen=True)
class Term:
    """A multiple of a variable."""

    coefficient: float
    variable: Variable


@dataclass(frozen=True)
class Clause:
    """``terms comparison threshold +/- tolerance``.

    Attributes:
        terms: As written, from left to right; they are added up.
        tolerance: Half-width of the estimate of the left side, above 0.
        text: As written.
        column: Where it starts in the condition's text, from 1.
    """

    terms: tuple[Term, ...]
    comparison: Comparison
    threshold: float
    tolerance: float
    text: str = ""
    column: int = 1

    @cached_property
    def coefficients(self) -> Mapping[Variable, float]:
        """The left side with like terms put together, without those that cancel."""
        return {name: float(c) for name, c in self.exact_coefficients.items()}

    @cached_property
    def exact_coefficients(self) -> Mapping[Variable, Fraction]:
        """As :attr:`coefficients`, as the numbers were written."""
        sums: dict[Variable, Fraction] = {}
        for term in self.terms:
            sums[term.variable] = sums.get(term.variable, Fraction(0)) + exact(term.coefficient)
        return {name: total for name, total in sums.items() if total}

    @property
    def weight(self) -> float:
        """The sum of the coefficients' absolute values."""
        return float(sum(abs(c) for c in self.exact_coefficients.values()))

    @property
    def half_width(self) -> float:
        """Half-width of each variable's estimate, so that the left side's is the tolerance.

        Of all ways to share a tolerance out this needs the fewest rows: with one Hoeffding bound a
        variable, the largest of several costs is least where all are equal.
        """
        return self.tolerance / self.weight

    @cached_property
    def attainable(self) -> tuple[float, float]:
        """The least and the greatest value that the left side can have."""
        c = self.exact_coefficients
        plain = [name for name in c if metric_of(name) is None]
        values = [sum((c[name] * row[name] for name in plain), Fraction(0)) for row in _ROWS]
        low, high = float(min(values)), float(max(values))
        for name in self.metrics:
            reach = math.inf if name == RANK or metric_of(name) == "rmse" else 1.0
            low += min(0.0, float(c[name]) * reach)
            high += max(0.0, float(c[name]) * reach)
        return low, high

    @property
    def metrics(self) -> tuple[Variable, ...]:
        """The variables that aren't shares of all rows."""
        return tuple(name for name in self.coefficients if metric_of(name) is not None)


_ROWS: tuple[Mapping[Variable, int], ...] = tuple(
    {"n": n, "o": o, "d": d}
    for n, o, d in itertools.product((0, 1), repeat=3)
    # Right and wrong predictions differ; two right ones don't.
    if not (n != o and not d) and not (n and o and d)
)
"""What n, o and d can be on one row; their averages are what a condition speaks of."""


@dataclass(frozen=True)
class Condition:
    """Clauses that must all hold.

    Attributes:
        text: As written.
    """

    clauses: tuple[Clause, ...]
    text: str = ""

    @property
    def variables(self) -> frozenset[Variable]:
        """The variables that an estimate is needed of."""
        return frozenset(name for clause in self.clauses for name in clause.coefficients)
