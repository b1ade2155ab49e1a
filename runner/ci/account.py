"""What a ledger's lines add up to: steps taken and left, and whether a test set is used up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from runner.ci.ledger import Record
from runner.ci.multiplicity import Reuse
from runner.ci.release import Release

OPENED = "opened"
STEP = "step"
REVEALED = "revealed"
SENT = "sent"
ALARMED = "alarmed"
RETIRED = "retired"
RELEASED = "released"


@dataclass(frozen=True)
class Terms:
    """What a test set was begun with, and what stays so: its promise was made for these.

    Attributes:
        delta: 1 - reliability.
    """

    kind: str
    steps: int
    first: str
    passes: int | None
    delta: float

    @classmethod
    def of(cls, reuse: Reuse, delta: float) -> Terms:
        """The terms of a guarantee."""
        return cls(reuse.kind, reuse.steps, reuse.first, reuse.budget, delta)


@dataclass(frozen=True)
class Step:
    """A step that was taken.

    Attributes:
        number: From 1.
        new: A hash of the new model's predictions.
        old: Likewise; None where no old model was handed in.
        passed: What the developer was told; None where nothing is.
        sealed: The result, sealed, where the developer isn't told and there is a key.
        sent: Whether the result was sent to whom it is for.
        record: The index of its line.
    """

    number: int
    inputs: str
    new: str
    old: str | None
    passed: bool | None
    sealed: str | None
    sent: bool
    release: Release
    record: int


@dataclass(frozen=True)
class Account:
    """The state of a test set.

    Attributes:
        opened: What the first line says; empty before it is written.
        steps: In their order.
        revealed: What releases beyond one bit have added to ln M.
        retired: Whether it was retired by hand (``runner ci rotate``).
        alarmed: Whether the alarm was raised.
    """

    opened: Mapping[str, Any]
    opened_at: str
    steps: tuple[Step, ...]
    revealed: float
    retired: bool
    alarmed: bool

    @classmethod
    def of(cls, records: Iterable[Record]) -> Account:
        """The state that a ledger's lines lead to."""
        opened: Mapping[str, Any] = {}
        opened_at = ""
        steps: dict[str, Step] = {}
        revealed = 0.0
        kinds = set()
        for record in records:
            fields = record.fields
            kinds.add(record.kind)
            revealed += fields.get("cost", 0.0)
            if record.kind == OPENED:
                opened, opened_at = fields, record.time
            elif record.kind == STEP:
                steps[fields["inputs"]] = _step(len(steps) + 1, record)
            elif record.kind == REVEALED:
                inputs = fields["inputs"]
                steps[inputs] = replace(steps[inputs], release=fields["release"])
            elif record.kind == SENT:
                steps[fields["inputs"]] = replace(steps[fields["inputs"]], sent=True)
        retired, alarmed = RETIRED in kinds, ALARMED in kinds
        return cls(opened, opened_at, tuple(steps.values()), revealed, retired, alarmed)

    @property
    def terms(self) -> Terms:
        """What it was begun with."""
        return Terms(**self.opened["terms"])

    @property
    def name(self) -> str:
        """The test set's name when it was begun."""
        return str(self.opened["testset"])

    @property
    def used(self) -> int:
        """Steps taken."""
        return len(self.steps)

    @property
    def changes(self) -> int:
        """Verdicts that count towards the budget."""
        counted = self.terms.first == "pass"
        return sum(step.passed is counted for step in self.steps)

    @property
    def changes_left(self) -> int | None:
        """Such verdicts until it is retired; None where they don't matter."""
        budget = self.terms.passes
        return None if budget is None else max(0, budget - self.changes)

    @property
    def left(self) -> int:
        """Steps that can be taken yet, at most."""
        if self.retired or self.changes_left == 0:
            return 0
        return max(0, self.terms.steps - self.used)

    @property
    def ended(self) -> str | None:
        """Why no step can be taken; None while one can."""
        terms = self.terms
        if self.retired:
            return "it was retired by `runner ci rotate`"
        if self.changes_left == 0:
            times = f"{terms.first} number {terms.passes}" if terms.passes != 1 else terms.first
            which = "the first " if terms.passes == 1 else ""
            return f"{which}{times} retired it, after {self.used:,} of {terms.steps:,} steps"
        if self.left == 0:
            return f"all {terms.steps:,} steps are taken"
        return None

    def changes_old(self, step: Step) -> bool:
        """Whether a step's old model is neither that of the step before nor one that passed.

        What a condition says against the old model it says of whatever was handed in as that.
        Where nobody is told what passed, any model that was judged may have.
        """
        before = self.steps[: step.number - 1]
        olds = [one.old for one in before if one.old is not None]
        if step.old is None or not olds:
            return False
        accepted = {one.new for one in before if one.passed is not False}
        return step.old != olds[-1] and step.old not in accepted

    def step_of(self, inputs: str) -> Step | None:
        """The step that judged the same predictions by the same condition, if any did."""
        return next((step for step in self.steps if step.inputs == inputs), None)


def _step(number: int, record: Record) -> Step:
    fields = record.fields
    return Step(
        number,
        fields["inputs"],
        fields["new"],
        fields["old"],
        fields["passed"],
        fields["sealed"],
        False,
        fields["release"],
        record.index,
    )
