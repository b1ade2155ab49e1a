"""What a technique will take on a fold: learnt from the store where there is history."""

from __future__ import annotations

from collections.abc import Callable

from runner.ensemble.plan import STAGE, Plan, Planned, configuration_text
from runner.ensemble.protocols import PAPER
from runner.store import Store

_HISTORY = """
    SELECT task_fingerprint, system, configuration,
        avg(fit_seconds + predict_seconds + coalesce(prepare_seconds, 0)) AS seconds
    FROM evaluations
    WHERE outcome = 'ok' AND stage = $stage AND fit_seconds IS NOT NULL
    GROUP BY ALL
"""

# Seconds for each row learnt from and each model, roughly as measured; the first run's order of
# jobs and its predicted end rest on it.
_SECONDS = {"ES": 1e-6, "DCS": 5e-6, "DES": 5e-6, "Stacking": 4e-7, "VBE": 4e-7}
_ORIGINAL = {**_SECONDS, "ES": 1e-5, "DCS": 5e-5, "DES": 5e-5}
"""Under protocol paper, with scikit-learn's forests and scores."""
_OTHERS = 1e-7
_LEAST = 0.002


def cost_model(plan: Plan, store: Store) -> Callable[[Planned], float]:
    """Predicted seconds of an evaluation, of which the store may have timed another fold."""
    known = {
        (row["task_fingerprint"], row["system"], row["configuration"]): row["seconds"]
        for row in store.query(_HISTORY, {"stage": STAGE}).to_pylist()
    }
    seconds_each = _ORIGINAL if plan.study.protocol == PAPER else _SECONDS

    def cost(planned: Planned) -> float:
        loaded, choice = plan.metatasks[planned.metatask], plan.techniques[planned.technique]
        name = loaded.fingerprint, choice.name, configuration_text(choice.parameters)
        if (seconds := known.get(name)) is not None:
            return float(seconds)
        metatask = loaded.metatask
        rows = len(metatask.labels) / len(metatask.fold_numbers)
        each = seconds_each.get(choice.listing.name, _OTHERS)
        return _LEAST + each * rows * len(metatask.models) * (len(metatask.classes) - 1)

    return cost
