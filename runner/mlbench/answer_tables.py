"""The answers as Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from runner.mlbench.answers import Answers
from runner.mlbench.comparison import Comparison
from runner.mlbench.tables import TIED

_TEXT, _NUMBER, _COUNT, _YES = pa.string(), pa.float64(), pa.int64(), pa.bool_()

PARETO = pa.schema([("dataset", _TEXT), ("system", _TEXT), ("auc", _NUMBER), ("seconds", _NUMBER)])
LINEARITY = pa.schema(
    [
        ("dataset", _TEXT),
        ("train_rows", _COUNT),
        ("best_linear", _TEXT),
        ("linear_auc", _NUMBER),
        ("best_nonlinear", _TEXT),
        ("nonlinear_auc", _NUMBER),
        ("difference", _NUMBER),
        ("better", _TEXT),
        ("advised", _TEXT),
        ("observation1_holds", _YES),
        ("loss", _NUMBER),
    ]
)
FASTEST = pa.schema(
    [
        ("dataset", _TEXT),
        ("kind", _TEXT),
        ("systems", _COUNT),
        ("fastest", _TEXT),
        ("auc", _NUMBER),
        ("best", _TEXT),
        ("best_auc", _NUMBER),
        ("loss", _NUMBER),
        ("loss_of_blind_pick", _NUMBER),
        ("best_trains_times_as_long", _NUMBER),
        ("observation2_holds", _YES),
    ]
)
RECOMMENDATIONS = pa.schema(
    [
        ("size", _TEXT),
        ("budget_seconds", _NUMBER),
        ("tolerance", _NUMBER),
        ("tolerance_of", _TEXT),
        ("use", _TEXT),
        ("met", _COUNT),
        ("tasks", _COUNT),
        ("median_seconds", _NUMBER),
    ]
)
COMPARISONS = pa.schema(
    [
        ("over", _TEXT),
        ("one", _TEXT),
        ("other", _TEXT),
        ("cases", _COUNT),
        ("wins", _COUNT),
        ("ties", _COUNT),
        ("losses", _COUNT),
        ("difference", _NUMBER),
        ("low", _NUMBER),
        ("high", _NUMBER),
        ("p_value", _NUMBER),
        ("least_p_value", _NUMBER),
        ("adjusted_p_value", _NUMBER),
    ]
)
_UNITS = {"rank": "percent of top teams", "auc": "AUC behind the best"}


def answer_tables(answers: Answers) -> dict[str, pa.Table]:
    """The answers' tables by the name of their file, without its suffix."""
    found = {
        "pareto": (_pareto(answers), PARETO),
        "linear_by_size": (_linearity(answers), LINEARITY),
        "fastest": (_fastest(answers), FASTEST),
        "recommendations": (_recommendations(answers), RECOMMENDATIONS),
        "comparisons": (_comparisons(answers), COMPARISONS),
    }
    return {
        name: pa.Table.from_pylist(rows, schema=schema) for name, (rows, schema) in found.items()
    }


_Rows = list[Mapping[str, Any]]


def _pareto(answers: Answers) -> _Rows:
    return [
        {"dataset": task, "system": point.name, "auc": point.auc, "seconds": point.seconds}
        for task, front in answers.fronts.items()
        for point in front
    ]


def _linearity(answers: Answers) -> _Rows:
    if answers.first is None:
        return []
    return [
        {
            "dataset": contrast.task,
            "train_rows": contrast.rows,
            "best_linear": TIED.join(contrast.linear),
            "linear_auc": contrast.linear_auc,
            "best_nonlinear": TIED.join(contrast.nonlinear),
            "nonlinear_auc": contrast.nonlinear_auc,
            "difference": contrast.difference,
            "better": contrast.better,
            "advised": advice.advised,
            "observation1_holds": advice.holds,
            "loss": advice.loss,
        }
        for contrast, advice in zip(answers.contrasts, answers.first.tasks, strict=True)
    ]


def _fastest(answers: Answers) -> _Rows:
    if answers.second is None:
        return []
    return [
        {
            "dataset": pick.task,
            "kind": pick.kind,
            "systems": pick.systems,
            "fastest": pick.fastest,
            "auc": pick.auc,
            "best": pick.best,
            "best_auc": pick.best_auc,
            "loss": pick.loss,
            "loss_of_blind_pick": pick.random_loss,
            "best_trains_times_as_long": pick.slower,
            "observation2_holds": pick.loss <= answers.second.margin,
        }
        for pick in answers.second.picks
    ]


def _recommendations(answers: Answers) -> _Rows:
    return [
        {
            "size": row.size,
            "budget_seconds": row.budget,
            "tolerance": row.tolerance,
            "tolerance_of": _UNITS[row.by],
            "use": TIED.join(row.systems) or None,
            "met": row.met,
            "tasks": row.tasks,
            "median_seconds": row.seconds,
        }
        for row in answers.recommendations
    ]


def _comparisons(answers: Answers) -> _Rows:
    return [_comparison(one) for one in (*answers.over_tasks, *answers.over_folds)]


def _comparison(one: Comparison) -> Mapping[str, Any]:
    return {
        "over": "tasks" if one.task is None else f"folds of {one.task}",
        "one": one.one,
        "other": one.other,
        "cases": one.difference.cases,
        "wins": one.wins,
        "ties": one.ties,
        "losses": one.losses,
        "difference": one.difference.value,
        "low": one.difference.low,
        "high": one.difference.high,
        "p_value": one.p_value,
        "least_p_value": one.least_p,
        "adjusted_p_value": one.adjusted,
    }
