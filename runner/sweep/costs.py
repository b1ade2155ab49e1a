"""What a fit will take: learnt from the store where there is history, else the family's model."""

from __future__ import annotations

from collections.abc import Callable

from runner.store import Store
from runner.sweep.plan import Plan, Planned, configuration_text

_HISTORY = """
    SELECT task_fingerprint, system, configuration, avg(fit_seconds) AS seconds
    FROM evaluations
    WHERE outcome = 'ok' AND stage = 'cv' AND fit_seconds IS NOT NULL
    GROUP BY ALL
"""


def cost_model(plan: Plan, store: Store) -> Callable[[Planned], float]:
    """Predicted seconds of an evaluation's fit.

    A configuration that the store has timed on this task takes what it took. One that it hasn't
    takes what the family's model says, scaled by what the model is off on this task's others.
    """
    known = {
        (row["task_fingerprint"], row["system"], row["configuration"]): row["seconds"]
        for row in store.query(_HISTORY).to_pylist()
    }
    measured: dict[tuple[int, str], float] = {}
    modelled: dict[tuple[int, str], float] = {}
    costs: dict[tuple[int, str, int], float] = {}
    for pair in plan.pairs:
        name = pair.task, pair.system
        for one in {planned.configuration_id: planned for planned in pair.cv}.values():
            model = plan.cost(pair.task, pair.system, one.configuration)
            seconds = known.get(_history_key(plan, one))
            if seconds is not None:
                measured[name] = measured.get(name, 0.0) + seconds
                modelled[name] = modelled.get(name, 0.0) + model
            costs[*name, one.configuration_id] = model

    def cost(planned: Planned) -> float:
        seconds = known.get(_history_key(plan, planned))
        if seconds is not None:
            return float(seconds)
        name = planned.task, planned.system
        scale = measured[name] / modelled[name] if modelled.get(name) else 1.0
        return costs[*name, planned.configuration_id] * scale

    return cost


def _history_key(plan: Plan, planned: Planned) -> tuple[str, str, str]:
    fingerprint = plan.tasks[planned.task].fingerprint
    return fingerprint, planned.system, configuration_text(planned.configuration)
