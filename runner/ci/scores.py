"""Numbers beside a joined test set: scores for AUC, predicted and true numbers for RMSE."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.ci.columns import read_columns, read_file
from runner.ci.guarantee import Guarantee
from runner.ci.metrics import metric_of
from runner.ci.predictions import PREDICTION, HeldOut, Joined, aligned, digest
from runner.errors import CannotRunError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCORE = "score"


def speaks_of_classes(guarantee: Guarantee) -> bool:
    """Whether predictions are classes: they are, unless only RMSE or AUC is asked for.

    Raises:
        InputError: If the condition asks for what files can't give.
    """
    metrics = _metrics(guarantee)
    _check(guarantee, metrics)
    return not metrics <= {"auc", "rmse"}


def with_scores(
    joined: Joined, rows: HeldOut, guarantee: Guarantee, new: Path, old: Path | None
) -> Joined:
    """Add the numbers that a condition needs; as it is where it needs none.

    For AUC the files have a column ``score``, higher for the positive class, or it is their only
    column; with several classes a column named by each, higher for that class. For RMSE
    ``prediction`` is the number, as ``label`` is.

    Raises:
        InputError: If a column is missing.
        CannotRunError: If ids don't match, or a cell isn't a number.
    """
    metrics = _metrics(guarantee)
    if not metrics & {"auc", "rmse"}:
        return joined
    metric = "auc" if "auc" in metrics else "rmse"
    several = metric == "auc" and guarantee.facts.classes > 2
    names = [SCORE if metric == "auc" else PREDICTION]
    if several:
        names = _in_order(joined, rows, guarantee.facts.names)
    found = [_columns(rows, new, names, "the new model's")]
    if f"{metric}(o)" in guarantee.condition.variables and old is not None:
        found.append(_columns(rows, old, names, "the old model's"))
    tested = replace(
        joined.tested, new_scores=found[0], old_scores=found[1] if len(found) > 1 else None
    )
    if metric == "rmse":
        tested = replace(tested, labels=_labels(rows))
    told = digest("scores", [joined.digest, *(part.tolist() for part in found)])
    models = joined.models
    if len(found) == len(models):
        parts = zip(models, found, strict=True)
        models = tuple(digest("scores", [one, part.tolist()]) for one, part in parts)
    return replace(joined, tested=tested, models=models, digest=told)


def _metrics(guarantee: Guarantee) -> set[str]:
    """What is asked for, with ``accuracy`` for n and o; d is known from any predictions."""
    names = guarantee.condition.variables - {"d"}
    return {metric_of(name) or "accuracy" for name in names}


def _check(guarantee: Guarantee, metrics: set[str]) -> None:
    if "rmse" in metrics and metrics != {"rmse"}:
        other = sorted(metrics - {"rmse"})[0]
        raise InputError(
            f"a condition on rmse has numbers for labels, and {other} needs classes; "
            "put them in two files"
        )


def _in_order(joined: Joined, rows: HeldOut, names: Sequence[str]) -> list[str]:
    """Classes in the order of their numbers, as macro averages go through them.

    Raises:
        CannotRunError: If labels are of other classes; which ones stays unsaid.
    """
    if rows.labels is not None and not {*rows.labels} <= {*names, None}:
        raise CannotRunError(
            f"the labels are of other classes than the {len(names):,} that `classes` names"
        )
    return sorted(names, key=lambda name: joined.numbers.get(name, len(joined.numbers)))


def _columns(rows: HeldOut, path: Path, names: Sequence[str], whose: str) -> NDArray[Any]:
    """One column as (n,), several as (n, columns)."""
    import numpy as np

    found = [_numbers(rows, path, name, whose) for name in names]
    return found[0] if len(found) == 1 else np.column_stack(found)


def _numbers(rows: HeldOut, path: Path, name: str, whose: str) -> NDArray[Any]:
    found = read_columns(read_file(path), path, name)
    values = aligned([*rows.ids, *(rows.pool or ())], found, f"{whose} {name}s")
    return _parsed(values[: len(rows.ids)], path, name)


def _labels(rows: HeldOut) -> NDArray[Any] | None:
    if rows.labels is None:
        return None
    import numpy as np

    known = [label for label in rows.labels if label is not None]
    _parsed(known, None, "label")
    return np.array([math.nan if label is None else float(label) for label in rows.labels])


def _parsed(values: Sequence[str | None], path: Path | None, name: str) -> NDArray[Any]:
    import numpy as np

    try:
        found = np.array([float(value or "") for value in values])
    except ValueError:
        found = np.array([math.nan])
    if not np.isfinite(found).all():
        # Which label it is stays unsaid.
        where = "; scores have a column 'score' of their own" if name == SCORE else ""
        raise CannotRunError(f"not each {name} is a number{where}", file=path)
    return found
