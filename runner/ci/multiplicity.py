"""Over how many (step, history) pairs a guarantee has to hold: the union bound's M, as ln M.

A developer who sees what comes out of each step is a function from histories to models, so a test
set is used on one model a step and a history. Everything is a logarithm: 2^H overflows from
H = 1024 on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal["none", "full", "firstChange"]
KINDS: tuple[Kind, ...] = ("none", "full", "firstChange")
Change = Literal["pass", "fail"]
CHANGES: tuple[Change, ...] = ("pass", "fail")


@dataclass(frozen=True)
class Reuse:
    """How a test set is used.

    Attributes:
        kind: What the developer learns: ``none`` nothing, ``full`` a bit a step, ``firstChange`` a
            bit a step until the set is retired.
        steps: How many models the set is to judge at most (the paper's H).
        first: Which verdict counts as a change.
        passes: After how many changes the set is retired; None for never. ``firstChange`` is 1.
        outcomes: How many outcomes of a step are told apart by what is released: 2 for the one
            bit that the paper counts on, 3 where "unknown" is shown too.
        revealed: What single steps that released more than that have added to ln M
            (:func:`ln_reveal_cost`).
    """

    kind: Kind
    steps: int
    first: Change = "pass"
    passes: int | None = None
    outcomes: int = 2
    revealed: float = 0.0

    @property
    def budget(self) -> int | None:
        """After how many changes the set is retired; None for never."""
        if self.kind == "none":
            return None
        if self.kind == "firstChange":
            return self.passes or 1
        return self.passes

    @property
    def ln_count(self) -> float:
        """ln M."""
        return self._planned + self.revealed

    @property
    def _planned(self) -> float:
        if self.kind == "none":
            return ln_none(self.steps)
        if self.outcomes > 2:
            return ln_revealed(self.steps, self.outcomes)
        budget = self.budget
        return ln_full(self.steps) if budget is None else ln_budget(self.steps, budget)

    @property
    def formula(self) -> str:
        """What M is, for people."""
        steps = f"{self.steps:,}"
        if self.kind == "none":
            return f"{steps} steps, none told"
        if self.outcomes > 2:
            return f"({self.outcomes}^{steps} - 1) / {self.outcomes - 1} histories"
        if self.budget is None:
            return f"2^{steps} histories"
        if self.budget == 1:
            return f"{steps} steps, retired at the first {self.first}"
        return f"the histories of {steps} steps with fewer than {self.budget} {_many(self.first)}"


def ln_none(steps: int) -> float:
    """ln H: models that don't depend on the test set, one a step."""
    return math.log(steps)


def ln_full(steps: int) -> float:
    """ln 2^H: one bit a step. The pairs are 2^H - 1; the paper counts 2^H."""
    return steps * math.log(2)


def ln_budget(steps: int, budget: int) -> float:
    """ln of the sum over j = 1..B of C(H, j): the set is retired at the B-th change.

    That many (step, history) pairs have fewer than B changes before the step. B = 1 gives H, the
    paper's firstChange; B = H gives 2^H - 1.

    Args:
        budget: B, at least 1.
    """
    budget = min(budget, steps)
    # The terms fall off geometrically on both sides of the largest, so few of them count.
    peak = min(budget, steps // 2) or 1
    largest = _ln_choose(steps, peak)
    total = 1.0
    for bound, direction in ((1, -1), (budget, 1)):
        term, j = 1.0, peak
        while j != bound and term > 1e-18:
            # C(H, j + 1) / C(H, j), or the same a place below.
            term *= (steps - j) / (j + 1) if direction > 0 else j / (steps - j + 1)
            j += direction
            total += term
    return largest + math.log(total)


def ln_revealed(steps: int, outcomes: int) -> float:
    """ln (q^H - 1)/(q - 1): each step releases one of q outcomes, such as true, false, unknown."""
    ln_power = steps * math.log(outcomes)
    # From 700 on the 1 is lost, and expm1 would overflow.
    ln_less_one = math.log(math.expm1(ln_power)) if ln_power < 700 else ln_power
    return ln_less_one - math.log(outcomes - 1)


def ln_reveal_cost(finer: int) -> float:
    """What one step that released more than was planned adds to ln M of all later steps.

    The union bound's error is shared out over a tree of histories. A step that tells ``finer``
    outcomes apart where the plan has one branch splits that branch's share among them.

    Args:
        finer: How many outcomes were told apart that share the branch taken: 2 where "false" and
            "unknown" were told apart after a fail, :func:`score_outcomes` where scores were shown.
    """
    return math.log(finer)


def ln_pending(steps: int) -> float:
    """What sequential tests add to ln M, since "no verdict yet" is an answer beside pass and fail.

    Of a step's error 1/H is kept for the histories in which its test is left for another one, so
    that those in which none is left have (1 - 1/H)^(H - 1) of the error, at least 1/e.

    Args:
        steps: H.
    """
    return (steps - 1) * math.log(steps / (steps - 1)) if steps > 1 else 0.0


def ln_left(steps: int) -> float:
    """What a sequential test that is left for another one adds to ln M of all later steps.

    Its histories have 1/H of the error (:func:`ln_pending`). Its verdict may come between any two
    of the later steps or never, and be either one: 2 (H - 1) + 1 ways.

    Args:
        steps: H.
    """
    return math.log(steps * (2 * steps - 1))


def score_outcomes(rows: int, variables: int) -> int:
    """How many different scores a test set of so many rows can give for so many variables."""
    count: int = (rows + 1) ** variables
    return count


def _ln_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _many(first: Change) -> str:
    return "passes" if first == "pass" else "fails"
