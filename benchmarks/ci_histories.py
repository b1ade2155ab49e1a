"""Histories of a test set with a developer who uses every bit that it releases.

The developer attacks as Blum and Hardt (2015) describe. Probing models, each right on rows of its
own choosing, have a true value so near the limit that they pass half the time, rightly; whether one
passes tells on which rows of the test set it happens to be right. The final model is a vote of the
probes, each for or against as it passed or not, with a share of votes such that its true value is
the clause's threshold exactly: what it gains beyond that it has learnt from the bits. A verdict on
it in the direction that the mode rules out is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from runner.ci import Clause, Plan, Reuse
from runner.ci.requirement import Requirement, is_difference, needs_labels

BATCH = 250
_NEAR = 1e-12

Count = NDArray[np.int64]
Bits = NDArray[np.bool_]


@dataclass(frozen=True)
class Right:
    """On how many rows a model is right, among those on which it can differ from the old one.

    Attributes:
        first: Among the rows of the coarse estimate.
        rest: Among all others.
    """

    first: Count
    rest: Count


@dataclass(frozen=True)
class Sets:
    """One test set a history.

    Attributes:
        first: Rows of the coarse estimate on which models can differ.
        rest: Others on which they can.
        other: What the clauses on d say: 1 true, 0 unknown, -1 false.
    """

    first: Count
    rest: Count
    other: NDArray[np.int8]


@dataclass(frozen=True)
class World:
    """What is true of all models of a developer, and what a plan makes of test sets.

    Attributes:
        differing: The share of rows on which new and old predictions differ.
        points: Whether verdicts come from estimates alone, without their half-widths and without
            the mode, as the paper's authors' program gives them.
        told: What the developer is told, where it isn't what the plan counts on.
    """

    plan: Plan
    differing: float
    points: bool = False
    told: Reuse | None = None

    @property
    def reuse(self) -> Reuse:
        """What the developer is told."""
        return self.told or self.plan.guarantee.reuse

    @property
    def judged(self) -> Requirement:
        """The requirement of the clause that the developer works on."""
        return next(r for r in self.plan.requirements if needs_labels(r.clause))

    @property
    def clause(self) -> Clause:
        return self.judged.clause

    @property
    def paired(self) -> bool:
        """Whether the clause is on n - o; otherwise it is on n, and all rows count."""
        return is_difference(self.clause)

    @property
    def upwards(self) -> bool:
        """Whether what the mode rules out is to pass (else it is to fail)."""
        return self.plan.guarantee.mode == "fp-free"

    def accuracy(self, value: float) -> float:
        """The share of right rows, among those that count, that makes the left side a value."""
        return (1 + value / self.differing) / 2 if self.paired else value

    def draw(self, rng: np.random.Generator, histories: int) -> Sets:
        """Test sets and, for clauses on d, pools of the size that the plan asks for."""
        coarse = 0 if self.judged.coarse is None else self.judged.coarse.rows
        share = self.differing if self.paired else 1.0
        first = rng.binomial(coarse, share, histories)
        rest = rng.binomial(self.plan.labels - coarse, share, histories)
        other = np.ones(histories, np.int8)
        for requirement in self.plan.requirements:
            if not needs_labels(requirement.clause):
                d = rng.binomial(requirement.rows, self.differing, histories) / requirement.rows
                limit, width = requirement.clause.threshold, requirement.clause.tolerance
                if self.points:
                    width = 0.0
                other = np.minimum(other, _truth(limit - d, width))
        return Sets(first, rest, other)

    def passes(self, right: Right, sets: Sets) -> Bits:
        """The bit that each model gets."""
        coarse = self.judged.coarse
        rows = self.plan.labels - (0 if coarse is None else coarse.rows)
        excess = self._left(right.rest, sets.rest, rows) - self.clause.threshold
        truth = _truth(excess, 0.0 if self.points else self.clause.tolerance)
        if coarse is not None and not self.points:
            early = self._left(right.first, sets.first, coarse.rows) - self.clause.threshold
            truth[early < -coarse.half_width] = -1
        truth = np.minimum(truth, sets.other)
        found: Bits = truth > (0 if self.points or self.upwards else -1)
        return found

    def _left(self, right: Count, counted: Count, rows: int) -> NDArray[np.float64]:
        found: NDArray[np.float64] = (2 * right - counted if self.paired else right) / rows
        return found


def _truth(excess: NDArray[np.float64], width: float) -> NDArray[np.int8]:
    above = (excess > width + _NEAR).astype(np.int8)
    below = (excess < -width - _NEAR).astype(np.int8)
    found: NDArray[np.int8] = above - below
    return found


def errors(found: World, histories: int, seed: int) -> int:
    """In how many histories any step's verdict was wrong in the way that the mode rules out."""
    rng = np.random.default_rng(seed)
    attack = _blind if found.reuse.kind == "none" else _adaptive
    return sum(int(np.count_nonzero(attack(found, rng, size))) for size in _batches(histories))


def _batches(histories: int) -> Iterator[int]:
    for start in range(0, histories, BATCH):
        yield min(BATCH, histories - start)


def _blind(found: World, rng: np.random.Generator, histories: int) -> Bits:
    """Nothing is told, so the models are chosen beforehand: all at the limit, each by itself."""
    sets = found.draw(rng, histories)
    wrong = np.zeros(histories, bool)
    for _ in range(found.reuse.steps):
        wrong |= found.passes(_at_limit(found, rng, sets), sets) == found.upwards
    return wrong


def _adaptive(found: World, rng: np.random.Generator, histories: int) -> Bits:
    """Probes as long as the set isn't retired by the next change, the vote, then what is left."""
    reuse = found.reuse
    sets = found.draw(rng, histories)
    budget = reuse.budget or reuse.steps + 1
    probes = min(reuse.steps - 1, (reuse.steps if budget > 1 else 0))
    seen = Probes(found, rng, sets, probes)
    change = seen.passed == (reuse.first == "pass")
    used = np.cumsum(change, axis=1) - change < budget - 1
    passed = found.passes(seen.vote(used), sets)
    wrong: Bits = passed == found.upwards
    changes = (change & used).sum(axis=1) + (passed == (reuse.first == "pass"))
    left = reuse.steps - 1 - used.sum(axis=1)
    for step in range(reuse.steps - 1):
        alive = (step < left) & (changes < budget)
        if not alive.any():
            break
        passed = found.passes(_at_limit(found, rng, sets), sets)
        wrong = wrong | alive & (passed == found.upwards)
        changes += alive & (passed == (reuse.first == "pass"))
    return wrong


def _at_limit(found: World, rng: np.random.Generator, sets: Sets) -> Right:
    """A model of its own at the threshold."""
    a = found.accuracy(found.clause.threshold)
    return Right(rng.binomial(sets.first, a), rng.binomial(sets.rest, a))


class Probes:
    """Probing models on the rows of each history, and votes of them."""

    def __init__(self, found: World, rng: np.random.Generator, sets: Sets, probes: int):
        self._found, self._rng, self._sets = found, rng, sets
        clause = found.clause
        # Where a probe passes half the time: the limit that the mode moves the threshold to. What
        # passes (or fails) there does so rightly.
        width = 0.0 if found.points else clause.tolerance
        limit = clause.threshold + (width if found.upwards else -width)
        self._a = min(1.0, found.accuracy(limit))
        counted = int((sets.first + sets.rest).max())
        histories = len(sets.first)
        self._right = rng.random((histories, counted, probes), dtype=np.float32) < self._a
        position = np.arange(counted)
        self._is_first = position < sets.first[:, None]
        self._is_row = position < (sets.first + sets.rest)[:, None]
        self.passed: Bits = np.zeros((histories, probes), bool)
        for j in range(probes):
            self.passed[:, j] = found.passes(self._counts(self._right[:, :, j]), sets)

    def vote(self, used: Bits) -> Right:
        """The vote of the probes used, for those that passed and against those that failed."""
        sign = np.where(used, np.where(self.passed, 1, -1), 0).astype(np.int8)
        score = np.einsum("hrp,hp->hr", self._right.view(np.int8), sign)
        wanted = self._found.accuracy(self._found.clause.threshold)
        if not self._found.upwards:
            # The least that a model of this true value can look: for what would be right least.
            score = -score
            sign = -sign
        tie = self._rng.random(score.shape, dtype=np.float32)
        right = np.empty(score.shape, bool)
        kinds = np.stack([(sign > 0).sum(axis=1), (sign < 0).sum(axis=1)], axis=1)
        for pro, contra in np.unique(kinds, axis=0):
            these = (kinds == (pro, contra)).all(axis=1)
            cut, share = _cut(int(pro), int(contra), self._a, wanted)
            right[these] = (score[these] > cut) | ((score[these] == cut) & (tie[these] < share))
        return self._counts(right)

    def _counts(self, right: Bits) -> Right:
        first = (right & self._is_first).sum(axis=1)
        return Right(first, (right & self._is_row).sum(axis=1) - first)


@cache
def _cut(pro: int, contra: int, a: float, wanted: float) -> tuple[int, float]:
    """The score above which a vote is right, and the share right at it, for a true accuracy."""
    from scipy.stats import binom

    law = np.convolve(
        binom.pmf(np.arange(pro + 1), pro, a), binom.pmf(np.arange(contra + 1), contra, a)[::-1]
    )
    above = 0.0
    for score in range(pro, -contra - 1, -1):
        mass = float(law[score + contra])
        if above + mass >= wanted - 1e-12 or score == -contra:
            return score, (wanted - above) / mass if mass else 1.0
        above += mass
    raise AssertionError("the whole law has a mass of 1")
