"""What a ledger's lines add up to: steps taken and left, and whether a test set is used up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from runner.ci.ledger import Record
from runner.ci.multiplicity import Reuse, ln_left, ln_pending
from runner.ci.release import Release

OPENED = "opened"
BEGUN = "begun"
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
    """A step that was taken, or begun: a sequential test that waits for labels.

    Attributes:
        number: From 1, in the order in which steps were begun.
        method: ``fixed`` or ``sequential``.
        finished: Whether there is a verdict.
        in_force: What histories beyond one bit a step add to ln M of this step.
        new: A hash of the new model's predictions.
        old: Likewise; None where no old model was handed in.
        passed: What the developer was told; None where nothing is, or not yet.
        sealed: The result, sealed, where the developer isn't told and there is a key.
        sent: Whether the result was sent to whom it is for.
        record: The index of its first line.
    """

    number: int
    method: str
    finished: bool
    in_force: float
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
        steps: In the order in which they were begun, those that wait for labels among them.
        revealed: What releases beyond one bit, and tests that were left, have added to ln M.
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
        account = cls({}, "", (), 0.0, retired=False, alarmed=False)
        for record in records:
            account = account._with(record)
        return account

    def _with(self, record: Record) -> Account:
        """The state after one more line."""
        fields = record.fields
        if record.kind in (BEGUN, STEP):
            return self._with_step(record)
        if record.kind == OPENED:
            return replace(self, opened=fields, opened_at=record.time)
        if record.kind == REVEALED:
            revealed = self.revealed + fields["cost"]
            steps = self._changed(fields["inputs"], release=fields["release"])
            return replace(self, steps=steps, revealed=revealed)
        if record.kind == SENT:
            return replace(self, steps=self._changed(fields["inputs"], sent=True))
        retired = self.retired or record.kind == RETIRED
        return replace(self, retired=retired, alarmed=self.alarmed or record.kind == ALARMED)

    def _with_step(self, record: Record) -> Account:
        fields = record.fields
        cost = fields.get("cost", 0.0)
        if self.step_of(fields["inputs"]) is None:
            in_force = self.in_force(fields["method"])
            step = _step(self.used + 1, in_force, record)
            revealed = self.revealed + self._left_behind + cost
            return replace(self, steps=(*self.steps, step), revealed=revealed)
        told = {key: fields[key] for key in ("passed", "sealed", "release")}
        steps = self._changed(fields["inputs"], finished=True, **told)
        return replace(self, steps=steps, revealed=self.revealed + cost)

    def _changed(self, inputs: str, **fields: Any) -> tuple[Step, ...]:
        return tuple(
            replace(step, **fields) if step.inputs == inputs else step for step in self.steps
        )

    @property
    def _left_behind(self) -> float:
        """What beginning another step adds to ln M: the test that it leaves without a verdict.

        Any before the last was counted when the last was begun.
        """
        if not self.steps or self.steps[-1].finished or self.terms.kind == "none":
            return 0.0
        return ln_left(self.terms.steps)

    def in_force(self, method: str) -> float:
        """What histories beyond one bit a step add to ln M of a step that is begun now.

        Args:
            method: The step's. The plan of a sequential test has :func:`ln_pending` in it.
        """
        after = any(step.method == "sequential" for step in self.steps)
        waiting = method == "fixed" and after and self.terms.kind != "none"
        allowance = ln_pending(self.terms.steps) if waiting else 0.0
        return self.revealed + self._left_behind + allowance

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
        """Steps taken or begun."""
        return len(self.steps)

    @property
    def begun(self) -> int:
        """Steps that wait for labels."""
        return sum(not step.finished for step in self.steps)

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
    def closed(self) -> str | None:
        """Why no verdict can be given, not even on a step that is begun; None while one can."""
        terms = self.terms
        if self.retired:
            return "it was retired by `runner ci rotate`"
        if self.changes_left == 0:
            times = f"{terms.first} number {terms.passes}" if terms.passes != 1 else terms.first
            which = "the first " if terms.passes == 1 else ""
            return f"{which}{times} retired it, after {self.used:,} of {terms.steps:,} steps"
        return None

    @property
    def ended(self) -> str | None:
        """Why no further step can be begun; None while one can."""
        if self.closed is None and self.left == 0:
            waiting = f", {self.begun:,} of them begun and not finished" if self.begun else ""
            return f"all {self.terms.steps:,} steps are taken{waiting}"
        return self.closed

    def changes_old(self, step: Step) -> bool:
        """Whether a step's old model is neither that of the step before nor one that passed.

        What a condition says against the old model it says of whatever was handed in as that.
        Where nobody is told what passed, any model that was judged may have.
        """
        before = self.steps[: step.number - 1]
        olds = [one.old for one in before if one.old is not None]
        if step.old is None or not olds:
            return False
        accepted = {one.new for one in before if one.finished and one.passed is not False}
        return step.old != olds[-1] and step.old not in accepted

    def step_of(self, inputs: str) -> Step | None:
        """The step that judged the same predictions by the same condition, if any did."""
        return next((step for step in self.steps if step.inputs == inputs), None)


def _step(number: int, in_force: float, record: Record) -> Step:
    fields = record.fields
    return Step(
        number=number,
        method=fields["method"],
        finished=record.kind == STEP,
        in_force=in_force,
        inputs=fields["inputs"],
        new=fields["new"],
        old=fields["old"],
        passed=fields.get("passed"),
        sealed=fields.get("sealed"),
        sent=False,
        release=fields.get("release", "bit"),
        record=record.index,
    )
