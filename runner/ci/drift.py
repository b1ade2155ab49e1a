"""Whether a fixed model has drifted: an alarm over test sets, with a stated average run length.

Without drift, the expected number of test sets up to the first alarm is at least the stated average
run length. Both detectors look at shares of rows: accuracy, or what stands for F1, precision and
recall (:mod:`runner.ci.relevant`).

- Against a level that is to be kept: an e-detector (Shin, Ramdas and Rinaldo, "E-detectors", 2024).
  A bet that the share is below the level is started at every test set; the sum of all their capital
  reaches A after A sets on average at the earliest, since each adds 1 in expectation at most.
- Without a level, any change: confidence sequences started at every test set (Shekhar and Ramdas,
  "Reducing sequential change detection to sequential estimation", 2023); the alarm is raised where
  no share is in all of them. At level 1/A each the run length is A on average at least.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.ci.betting import bernoulli_interval
from runner.ci.relevant import Share

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Look:
    """The state after one test set.

    Attributes:
        share: Of this test set.
        evidence: 1 is an alarm: the detector's sum over A, for a level; NaN without one.
        low: The shares that all confidence sequences hold; NaN with a level.
        high: Above ``low`` until the alarm.
        since: From which test set, counted from 0, the evidence for the alarm is; None without.
    """

    share: Share
    alarm: bool
    evidence: float = math.nan
    low: float = math.nan
    high: float = math.nan
    since: int | None = None


def below_level(sets: Sequence[Share], level: float, run_length: float) -> tuple[Look, ...]:
    """An e-detector of a share below a level.

    Ends with the alarm, if there is one.

    Args:
        sets: In the order of time.
        level: In (0, 1).
        run_length: The sets between two false alarms, on average at least.
    """
    import numpy as np

    from runner.ci.betting import ln_gains

    looks: list[Look] = []
    values = np.array([1.0, 0.0])
    started: list[NDArray[Any]] = []
    for share in sets:
        # That a row is wrong is bet on: 1 - share is above 1 - level.
        gains = ln_gains(1 - values, np.array([share.right, share.rows - share.right]), 1 - level)
        started = [capital + gains for capital in (*started, np.zeros(len(gains)))]
        totals = [_mean_exp(capital) for capital in started]
        evidence = sum(totals) / run_length
        alarm = evidence >= 1
        since = max(range(len(totals)), key=totals.__getitem__) if alarm else None
        looks.append(Look(share, alarm, evidence, since=since))
        if alarm:
            break
    return tuple(looks)


def _mean_exp(logarithms: NDArray[Any]) -> float:
    import numpy as np

    # Above this any sum is an alarm, and a larger one would overflow.
    return float(np.mean(np.exp(np.minimum(logarithms, 600.0))))


def any_change(sets: Sequence[Share], run_length: float) -> tuple[Look, ...]:
    """The intersection of confidence sequences that start at every test set.

    Ends with the alarm, if there is one.

    Args:
        sets: In the order of time.
        run_length: The sets between two false alarms, on average at least.
    """
    looks: list[Look] = []
    sums: list[Share] = []
    low, high = 0.0, 1.0
    for share in sets:
        sums = [_plus(one, share) for one in (*sums, Share(0, 0))]
        found = [bernoulli_interval(s.right, s.rows, math.log(run_length)) for s in sums]
        low = max(low, *(one[0] for one in found))
        high = min(high, *(one[1] for one in found))
        alarm = low > high
        since = _departure(found, low, high) if alarm else None
        looks.append(Look(share, alarm, low=low, high=high, since=since))
        if alarm:
            break
    return tuple(looks)


def _plus(first: Share, second: Share) -> Share:
    return Share(first.right + second.right, first.rows + second.rows)


def _departure(found: Sequence[tuple[float, float]], low: float, high: float) -> int:
    """The latest start of a sequence that leaves nothing in common."""
    return max(i for i, (a, b) in enumerate(found) if a == low or b == high)
