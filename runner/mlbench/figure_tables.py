"""The numbers behind figures 1 and 6 as Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from runner.mlbench.capacity import tolerance_curve, versions
from runner.mlbench.regimes import Thresholds, heat_map
from runner.mlbench.study import Study
from runner.mlbench.tables import TIED

UNIVERSALITY = pa.schema(
    [
        ("left_out", pa.string()),
        ("tasks", pa.int64()),
        ("platform", pa.string()),
        ("tolerance", pa.float64()),
        ("models_needed", pa.int64()),
        ("models", pa.string()),
    ]
)
REGIMES = pa.schema(
    [
        ("dataset", pa.string()),
        ("system", pa.string()),
        ("capacity", pa.float64()),
        ("regime", pa.string()),
    ]
)


def figure_tables(
    study: Study, thresholds: Thresholds, without: Sequence[str] | None = None
) -> dict[str, pa.Table]:
    """The tables by the name of their file, without its suffix.

    Args:
        study: What was found.
        thresholds: Of the regimes.
        without: The tasks that figure 1 leaves out, one after the other.
    """
    return {
        "universality": universality(study, without),
        "regimes": regimes(study, thresholds),
    }


def universality(study: Study, without: Sequence[str] | None = None) -> pa.Table:
    """Figure 1: from each tolerance on, how many models a platform needs to meet it everywhere.

    The first row of a platform is its capacity over all tasks; it has none where it has no rank
    in one of them.
    """
    first = next(iter(study.platforms.values()), ())
    rows = []
    for left_out in versions(study.capacities, first, without):
        found = study.capacities.without(left_out)
        for platform, systems in study.platforms.items():
            for step in tolerance_curve(found, systems):
                rows.append(
                    {
                        "left_out": TIED.join(left_out),
                        "tasks": len(found.tasks),
                        "platform": platform,
                        "tolerance": step.tolerance,
                        "models_needed": len(step.models),
                        "models": TIED.join(step.models),
                    }
                )
    return pa.Table.from_pylist(rows, schema=UNIVERSALITY)


def regimes(study: Study, thresholds: Thresholds) -> pa.Table:
    """Figure 6: the capacity of each system in each task and the regime that it meets."""
    rows = [
        {
            "dataset": cell.task,
            "system": cell.model,
            "capacity": cell.capacity,
            "regime": cell.regime,
        }
        for cell in heat_map(study.capacities, thresholds)
    ]
    return pa.Table.from_pylist(rows, schema=REGIMES)
