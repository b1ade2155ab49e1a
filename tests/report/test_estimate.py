"""When a run will have ended, against runs played through with known costs."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from runner.errors import InputError
from runner.mlbench.study import Task
from runner.models import family
from runner.report.estimate import OVERHEAD_SECONDS, estimate
from runner.report.progress import Configured, PairProgress, Progress, Refits

BEGUN = 1_000_000.0
TASK = Task("wdbc", rows=455, features=30)
FOLDS = 5


def made(pairs: Mapping[str, Mapping[int, tuple[int, float]]], last: float) -> Progress:
    """A run whose pairs have, by configuration, some evaluations done that took some seconds."""
    return Progress(
        run_id="r",
        study="s",
        started=BEGUN,
        ended=False,
        pairs=tuple(_pair(system, found) for system, found in pairs.items()),
        refits=Refits(0, 0, {}),
        begun=BEGUN,
        last=last,
        longest=max((s for found in pairs.values() for _, s in found.values()), default=0.0),
    )


def _pair(system: str, found: Mapping[int, tuple[int, float]]) -> PairProgress:
    ids = tuple(number for number, _ in grid(system))
    done = {
        number: Configured(number, "{}", count, count, seconds, 1, None, {"ok": count})
        for number, (count, seconds) in found.items()
        if count
    }
    return PairProgress(TASK, system, FOLDS, 1, FOLDS * len(ids), ids, done)


def grid(system: str) -> tuple[tuple[int, Mapping[str, object]], ...]:
    try:
        return family(system).configurations()
    except InputError:
        return tuple((number, {}) for number in range(20))


def played(systems: Mapping[str, float], slots: int, share: float) -> tuple[Progress, float]:
    """A run stopped at a share of its evaluations, and when it would have ended: slots take jobs,
    dearest first, that cost what the family says times the system's factor."""
    jobs = sorted(_jobs(systems), reverse=True)
    free = [BEGUN] * slots
    ends = []
    for seconds, system, number in jobs:
        end = heapq.heappop(free) + seconds + OVERHEAD_SECONDS
        heapq.heappush(free, end)
        ends.append((end, system, number, seconds))
    ends.sort()
    done = ends[: int(share * len(ends))]
    found: dict[str, dict[int, tuple[int, float]]] = {system: {} for system in systems}
    for _, system, number, seconds in done:
        count, _ = found[system].get(number, (0, 0.0))
        found[system][number] = count + 1, seconds
    return made(found, done[-1][0]), ends[-1][0]


def _jobs(systems: Mapping[str, float]) -> Iterator[tuple[float, str, int]]:
    for system, factor in systems.items():
        for number, configuration in grid(system):
            seconds = factor * family(system).cost(configuration, 364, 30)
            yield from ((seconds, system, number) for _ in range(FOLDS))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("slots", [1, 8])
def test_dear_jobs_first_are_seen_through(share: float, slots: int) -> None:
    progress, end = played({"C-BDT": 30.0, "C-DF": 80.0, "C-SVM": 200.0}, slots, share)
    assert progress.last is not None
    found = estimate(progress, progress.last)
    assert found.end is not None
    left = end - progress.last
    assert abs(found.end - end) < 0.15 * left + 0.05 * (end - BEGUN)


def test_unknown_at_the_start() -> None:
    found = estimate(made({"C-SVM": {0: (1, 2.0)}}, BEGUN + 2), BEGUN + 3)
    assert found.end is None
    assert "isn't known yet: 1 evaluation of this run" in found.basis


def test_a_silent_run_is_not_said_to_live() -> None:
    progress, _ = played({"C-SVM": 200.0}, 2, 0.5)
    assert progress.last is not None
    silence = 600 + 3 * progress.longest
    found = estimate(progress, progress.last + silence)
    assert found.end is None
    assert "no evaluation has ended for" in found.basis
    assert "may have been stopped" in found.basis


def test_a_long_evaluation_is_waited_for() -> None:
    progress = made({"C-SVM": {0: (5, 400.0), 1: (5, 400.0)}}, BEGUN + 4000)
    assert estimate(progress, BEGUN + 4000 + 500).end is not None


def test_says_of_what_nothing_is_known() -> None:
    progress, _ = played({"C-SVM": 200.0}, 2, 0.9)
    other = made({"C-BDT": {}}, BEGUN).pairs
    progress = replace(progress, pairs=(*progress.pairs, *other))
    found = estimate(progress, progress.last or 0)
    assert found.end is not None
    assert found.basis.endswith("nothing is known yet of C-BDT on wdbc")


def test_a_system_of_ones_own_goes_by_its_mean() -> None:
    progress = made({"mine": dict.fromkeys(range(15), (FOLDS, 3.0))}, BEGUN + 225)
    found = estimate(progress, BEGUN + 225)
    assert found.end is not None
    assert abs(found.end - (BEGUN + 225 + 75)) < 1


def test_nothing_is_left() -> None:
    progress = made({"mine": dict.fromkeys(range(20), (FOLDS, 3.0))}, BEGUN + 300)
    assert "all evaluations" in estimate(progress, BEGUN + 300).basis
