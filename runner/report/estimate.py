"""When a run will have ended, from what its evaluations took so far."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.errors import InputError
from runner.models import Family, family
from runner.report.progress import PairProgress, Progress

LEAST_EVALUATIONS = 10
"""With fewer of a run's own nothing is predicted."""
SILENCE = 3.0
"""So many times as long as the longest evaluation, a run without a new row looks stopped."""
LEAST_SILENCE_SECONDS = 60.0
OVERHEAD_SECONDS = 0.005
"""What a job takes of a sandbox besides its evaluation: a process and its record."""


@dataclass(frozen=True)
class Estimate:
    """When a run will have ended.

    Attributes:
        end: In seconds since 1970; None where nobody can tell.
        basis: What that rests on, or why it isn't known: a sentence without its full stop.
    """

    end: float | None
    basis: str


@dataclass(frozen=True)
class _Work:
    """A pair's work in seconds of one sandbox.

    Attributes:
        own_seconds: What this run's own jobs took.
        timed_seconds: What the evaluations of all that are done took, those of earlier runs among
            them.
        timed_predicted: What the family's cost model says of the same.
        left_predicted: What it says of those that are missing.
        done_jobs: How many are done.
        left_jobs: How many are missing.
    """

    own_seconds: float
    timed_seconds: float
    timed_predicted: float
    left_predicted: float
    done_jobs: int
    left_jobs: int


def estimate(progress: Progress, now: float) -> Estimate:
    """When the run will have ended.

    A job that is left costs what its family's model predicts, times what the model was off for the
    system's other jobs on this task: dear ones come first, so that a mean over what is done would
    promise too long a wait. The sum goes at the pace at which this run's own work went.

    Args:
        progress: How far it is.
        now: Seconds since 1970.
    """
    if progress.ended or progress.done >= progress.planned:
        return Estimate(None, "all evaluations have a row")
    if progress.begun is None or progress.last is None or progress.own < LEAST_EVALUATIONS:
        return Estimate(None, f"the end isn't known yet: {_count(progress.own)} of this run so far")
    silent = now - progress.last
    if silent > max(LEAST_SILENCE_SECONDS, SILENCE * progress.longest):
        return Estimate(
            None,
            f"the end isn't known: no evaluation has ended for {duration(silent)}, so the run may "
            "have been stopped",
        )
    works = [_work(pair) for pair in progress.pairs]
    pace = sum(work.own_seconds for work in works) / max(progress.last - progress.begun, 1e-3)
    if not pace:
        return Estimate(None, "the end isn't known: none of the evaluations was timed")
    left = _left(progress, works)
    return Estimate(max(progress.last + left / pace, now), _basis(progress, works))


def duration(seconds: float) -> str:
    """A time span for people, such as ``4 min``."""
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _left(progress: Progress, works: Sequence[_Work]) -> float:
    """Seconds of one sandbox that what is missing will take."""
    timed = sum(work.timed_seconds for work in works)
    overall = timed / sum(work.timed_predicted for work in works)
    left = 0.0
    for work in works:
        off = work.timed_seconds / work.timed_predicted if work.timed_predicted else overall
        left += off * work.left_predicted + OVERHEAD_SECONDS * work.left_jobs
    jobs = sum(work.done_jobs for work in works)
    refits = max(progress.refits.planned - progress.refits.done, 0)
    return left + refits * timed / max(jobs, 1)


def _basis(progress: Progress, works: Sequence[_Work]) -> str:
    took = duration((progress.last or 0) - (progress.begun or 0))
    text = f"predicted from {_count(progress.own)} in {took} and from the families' cost models"
    waiting = [
        f"{pair.system} on {pair.task.name}"
        for pair, work in zip(progress.pairs, works, strict=True)
        if work.left_jobs and not work.done_jobs
    ]
    if not waiting:
        return text
    named = ", ".join(waiting[:3]) + (f" and {len(waiting) - 3} more" if len(waiting) > 3 else "")
    return f"{text}; nothing is known yet of {named}"


def _work(pair: PairProgress) -> _Work:
    configurations = _configurations(pair)
    costs = _costs(pair, configurations)
    whole = pair.folds * pair.repeats
    own = timed = timed_predicted = left = 0.0
    done_jobs = left_jobs = 0
    for job in _jobs(pair, configurations):
        found = [pair.found[i] for i in job if i in pair.found]
        cost = max(costs[i] for i in job)
        missing = max(whole - (pair.found[i].done if i in pair.found else 0) for i in job)
        left += cost * missing
        left_jobs += missing
        seconds = max((one.seconds for one in found if one.seconds is not None), default=None)
        if seconds is None:
            continue
        done = max(one.done for one in found)
        timed += seconds * done
        timed_predicted += cost * done
        own += (seconds + OVERHEAD_SECONDS) * max(one.own for one in found)
        done_jobs += done
    return _Work(own, timed, timed_predicted, left, done_jobs, left_jobs)


_Configurations = Mapping[int, Mapping[str, Any] | None]


def _configurations(pair: PairProgress) -> _Configurations:
    """A pair's configurations by number; None where nothing tells what one is."""
    known = _family(pair)
    grid: Mapping[int, Any] = dict(known.configurations()) if known else {}
    found = {number: json.loads(one.configuration or "{}") for number, one in pair.found.items()}
    return {number: grid.get(number, found.get(number)) for number in pair.ids or found}


def _costs(pair: PairProgress, configurations: _Configurations) -> Mapping[int, float]:
    """Predicted seconds by configuration; where nothing predicts them, those of the mean."""
    known, rows, features = _family(pair), pair.task.rows, pair.task.features
    costs: dict[int, float] = {}
    if known and rows and features:
        own = int(rows * (1 - 1 / pair.folds))
        for number, configuration in configurations.items():
            if configuration is not None:
                costs[number] = known.cost(configuration, own, features)
    mean = math.fsum(costs.values()) / len(costs) if costs else 1.0
    return {number: costs.get(number, mean) for number in configurations}


def _jobs(pair: PairProgress, configurations: _Configurations) -> Iterator[Sequence[int]]:
    """The configurations in groups, each of which one fit serves on each fold."""
    known = _family(pair)
    told = [(number, dict(one)) for number, one in configurations.items() if one is not None]
    shares = not pair.found or any(one.shared_with > 1 for one in pair.found.values())
    if known and shares:
        yield from ([number for number, _ in group] for group in known.fits(told))
    else:
        yield from ([number] for number, _ in told)
    yield from ([number] for number, one in configurations.items() if one is None)


def _family(pair: PairProgress) -> Family | None:
    try:
        return family(pair.system)
    except InputError:
        # A user's own class, of which the store knows nothing but its name.
        return None


def _count(evaluations: int) -> str:
    return f"{evaluations:,} evaluation{'' if evaluations == 1 else 's'}"
