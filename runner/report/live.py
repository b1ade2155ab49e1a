"""What the page of a run says while the run is watched: how far it is, and what is best so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from runner.report.estimate import Estimate
from runner.report.page.columns import encode
from runner.report.progress import PairProgress, Progress
from runner.store import OUTCOMES

PAIRS = pa.schema(
    [
        ("task", pa.string()),
        ("system", pa.string()),
        ("done", pa.int32()),
        ("planned", pa.int32()),
        *((outcome, pa.int32()) for outcome in OUTCOMES),
        ("cv_auc", pa.float64()),
        ("configuration_id", pa.int64()),
        ("configuration", pa.string()),
    ]
)
"""Of each system on each task how many evaluations are done, and the best configuration so far."""


@dataclass(frozen=True)
class Watched:
    """How a page is kept. Times are seconds since 1970.

    Attributes:
        made: When this page was made.
        tables_made: When its tables and charts were, which cost more.
        again: Seconds until it will be made again; None if it won't be, since the watch was ended.
    """

    made: float
    tables_made: float
    again: float | None


def live(progress: Progress, estimate: Estimate, watched: Watched) -> Mapping[str, Any]:
    """What runner/report/page/live.js shows above the page, as JSON has it."""
    return {
        **asdict(watched),
        "run": progress.run_id,
        "planned": progress.planned,
        "done": progress.done,
        "outcomes": {name: progress.outcomes[name] for name in OUTCOMES if progress.outcomes[name]},
        "started": progress.started,
        "last": progress.last,
        "end": estimate.end,
        "basis": estimate.basis,
        "table": {"id": "live", "title": "Progress", **encode(_table(progress))},
    }


def best(progress: Progress) -> Mapping[tuple[str, str], float]:
    """The best mean AUC so far by task and system, of configurations whose folds are all ok."""
    found = {}
    for pair in progress.pairs:
        chosen = pair.best
        if chosen is not None and chosen.auc is not None:
            found[pair.task.name, pair.system] = chosen.auc
    return found


def _table(progress: Progress) -> pa.Table:
    return pa.Table.from_pylist(list(_rows(progress.pairs)), schema=PAIRS)


def _rows(pairs: tuple[PairProgress, ...]) -> Iterator[Mapping[str, Any]]:
    for pair in pairs:
        chosen = pair.best
        yield {
            "task": pair.task.name,
            "system": pair.system,
            "done": pair.done,
            "planned": pair.planned,
            **{outcome: pair.outcomes[outcome] for outcome in OUTCOMES},
            "cv_auc": chosen and chosen.auc,
            "configuration_id": chosen and chosen.configuration_id,
            "configuration": chosen and chosen.configuration,
        }
