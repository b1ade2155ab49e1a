"""The sweep of a study as others do it: ``python -m benchmarks.rivals gridsearch|tune STUDY``.

Same tasks, folds, estimators and scorer as ``runner sweep``; prints one JSON document. For studies
of one task of numbers without gaps. ``tune`` makes some of the trials only and says how many there
are: extrapolating is the caller's.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from runner.config import SweepStudy, load_study, load_tasks
from runner.models import family


@dataclass(frozen=True, eq=False)
class Rows:
    """A task's training and test rows."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    folds: Any


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("how", choices=["gridsearch", "tune"])
    parser.add_argument("study", type=Path)
    parser.add_argument("--trials", type=int, default=60, help="of the trials of tune")
    arguments = parser.parse_args()
    study = load_study(arguments.study)
    if arguments.how == "gridsearch":
        print(json.dumps(grid_search(study)))
    else:
        print(json.dumps(plain_tune(study, arguments.trials)))


def grid_search(study: SweepStudy) -> dict[str, Any]:
    """scikit-learn's GridSearchCV over the whole grid of each system, one after the other.

    Returns:
        ``best``, the best mean AUC by system; ``cpu_seconds``, of this process and its workers.
    """
    from joblib.externals.loky import get_reusable_executor  # type: ignore[import-untyped]
    from sklearn.model_selection import GridSearchCV

    rows = _rows(study)
    best: dict[str, float] = {}
    for entry in study.systems:
        model = entry.family
        _, values = model.configurations()[0]
        swept = {name: list(parameter.swept) for name, parameter in model.parameters.items()}
        estimator = model.estimator(values, seed=study.seed, threads=1)
        search = GridSearchCV(
            estimator, swept, scoring="roc_auc", cv=rows.folds, n_jobs=-1, error_score="raise"
        )
        search.fit(rows.X, rows.y)
        search.score(rows.X_test, rows.y_test)
        best[entry.name] = float(search.best_score_)
    # Workers count once they have ended.
    get_reusable_executor().shutdown(wait=True)
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {"best": best, "cpu_seconds": sum(one.ru_utime + one.ru_stime for one in spent)}


def plain_tune(study: SweepStudy, count: int) -> dict[str, Any]:
    """Plain Ray Tune: one trial a configuration, which cross-validates it; Tune's defaults.

    Returns:
        ``trials``, how many were made; ``of``, how many there are; ``startup_seconds`` until the
        first began; ``trial_seconds`` from there to the last one's end.
    """
    started = time.time()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    from runner.engine import environment

    environment.close_to_others()
    import ray
    from ray import tune

    every = [(entry.name, values) for entry in study.systems for _, values in entry.configurations]
    drawn = random.Random(0).sample(every, min(count, len(every)))
    ray.init(address="local", log_to_driver=False)
    try:
        with tempfile.TemporaryDirectory() as folder:
            trainable = tune.with_parameters(_cross_validate, rows=_rows(study), seed=study.seed)
            points = [{"system": system, "values": dict(values)} for system, values in drawn]
            results = tune.Tuner(
                trainable,
                param_space={"point": tune.grid_search(points)},
                run_config=tune.RunConfig(storage_path=folder, verbose=0),
            ).fit()
            frame = results.get_dataframe()
    finally:
        ray.shutdown()
    if results.errors:
        raise results.errors[0]
    return {
        "trials": len(drawn),
        "of": len(every),
        "startup_seconds": float(frame["began"].min()) - started,
        "trial_seconds": float(frame["ended"].max() - frame["began"].min()),
    }


def _cross_validate(config: dict[str, Any], rows: Rows, seed: int) -> dict[str, float]:
    from sklearn.model_selection import cross_val_score

    began = time.time()
    point = config["point"]
    estimator = family(point["system"]).estimator(point["values"], seed=seed, threads=1)
    scores = cross_val_score(estimator, rows.X, rows.y, scoring="roc_auc", cv=rows.folds)
    return {"auc": float(scores.mean()), "began": began, "ended": time.time()}


def _rows(study: SweepStudy) -> Rows:
    from sklearn.model_selection import PredefinedSplit

    [task], [split] = load_tasks(study)
    train, test = split.train_rows, split.test_rows
    return Rows(
        task.numeric[train],
        task.y[train],
        task.numeric[test],
        task.y[test],
        PredefinedSplit(split.fold[train]),
    )


if __name__ == "__main__":
    main()
