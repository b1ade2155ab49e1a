"""mlbench's Observation 2: within each kind of model, take the one that trains fastest."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from runner.mlbench import intervals
from runner.mlbench.intervals import Estimate
from runner.mlbench.study import Result, Study, Time

MARGIN = 0.01
"""An AUC lost that is small: the last digit that the paper prints."""
PAPERS_PICKS: Mapping[str, str] = {"linear": "C-AP", "nonlinear": "C-BDT"}
"""What the paper (section 5.2.2) concludes from its figure 5."""


@dataclass(frozen=True)
class Pick:
    """The fastest system of one kind on one task.

    Attributes:
        kind: ``linear`` or ``nonlinear``.
        systems: How many of that kind have a time and a test AUC.
        auc: The fastest one's.
        best: The most accurate one.
        loss: AUC lost against the best one.
        random_loss: The same for picking blindly, on average.
        slower: How many times as long the best one trains.
    """

    task: str
    kind: str
    systems: int
    fastest: str
    auc: float
    best: str
    best_auc: float
    loss: float
    random_loss: float
    slower: float | None


@dataclass(frozen=True)
class Observation2:
    """Observation 2 on a study's tasks.

    Attributes:
        margin: It holds on a task where the loss is no greater.
        loss: By kind, the mean AUC that following it loses.
        saved: By kind, the same for picking blindly, minus that; above zero it is worth following.
        named: By kind, the system that the paper names, and on how many tasks it is the fastest.
    """

    time: Time
    margin: float
    picks: tuple[Pick, ...]
    loss: Mapping[str, Estimate]
    saved: Mapping[str, Estimate]
    named: Mapping[str, tuple[str, int]]

    def of_kind(self, kind: str) -> tuple[Pick, ...]:
        """The picks of one kind."""
        return tuple(pick for pick in self.picks if pick.kind == kind)

    def holds(self, kind: str) -> int:
        """On how many tasks it holds."""
        return sum(pick.loss <= self.margin for pick in self.of_kind(kind))

    def fastest(self, kind: str) -> Mapping[str, int]:
        """How often each system of a kind is the fastest, most often first."""
        return dict(Counter(pick.fastest for pick in self.of_kind(kind)).most_common())


def observation2(
    study: Study,
    *,
    time: Time = "average",
    margin: float = MARGIN,
    named: Mapping[str, str] = PAPERS_PICKS,
    seed: int = 0,
) -> Observation2 | None:
    """Tests Observation 2; None where no task has two systems of a kind with time and AUC.

    Args:
        study: What was found.
        time: The paper judges by the average time; the total is what a whole grid costs.
        margin: Greatest loss of AUC with which it holds.
        named: The systems whose claim to be the fastest is counted, by kind.
        seed: Of the intervals.
    """
    picks = tuple(
        pick
        for kind in ("linear", "nonlinear")
        for task in study.tasks
        if (pick := _pick(task.name, kind, _candidates(study, task.name, kind), time)) is not None
    )
    by_kind = {kind: [pick for pick in picks if pick.kind == kind] for kind in named}
    by_kind = {kind: found for kind, found in by_kind.items() if found}
    if not by_kind:
        return None
    return Observation2(
        time=time,
        margin=margin,
        picks=picks,
        loss={
            kind: intervals.mean([pick.loss for pick in found], seed=seed)
            for kind, found in by_kind.items()
        },
        saved={
            kind: intervals.mean([pick.random_loss - pick.loss for pick in found], seed=seed)
            for kind, found in by_kind.items()
        },
        named={
            kind: (named[kind], sum(pick.fastest == named[kind] for pick in found))
            for kind, found in by_kind.items()
        },
    )


def _candidates(study: Study, task: str, kind: str) -> list[Result]:
    linear = kind == "linear"
    return [study.result(task, system.name) for system in study.systems if system.linear is linear]


def _pick(task: str, kind: str, results: list[Result], time: Time) -> Pick | None:
    timed = [
        (seconds, result.auc, result)
        for result in results
        if (seconds := result.seconds(time)) is not None and result.auc is not None
    ]
    if len(timed) < 2:
        return None
    # The more accurate of two that are equally fast, the faster of two equally accurate.
    seconds, auc, fastest = min(timed, key=lambda item: (item[0], -item[1]))
    longest, best_auc, best = max(timed, key=lambda item: (item[1], -item[0]))
    losses = [round(best_auc - other, 12) for _, other, _ in timed]
    return Pick(
        task=task,
        kind=kind,
        systems=len(timed),
        fastest=fastest.system,
        auc=auc,
        best=best.system,
        best_auc=best_auc,
        loss=round(best_auc - auc, 12),
        random_loss=statistics.fmean(losses),
        slower=longest / seconds if seconds else None,
    )
