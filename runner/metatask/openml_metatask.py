"""A metatask from an OpenML task and the runs that it takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from runner.data.openml_task import OpenmlTask
from runner.data.table import kind, labels
from runner.errors import InputError
from runner.metatask.coverage import check_folds
from runner.metatask.integrity import Checked
from runner.metatask.metatask import Metatask, Model, Stored
from runner.metatask.openml_selection import Candidate, Selection, named_candidate


@dataclass(frozen=True)
class Taken:
    """A run that serves as a model, with its predictions checked."""

    candidate: Candidate
    checked: Checked


@dataclass(frozen=True, eq=False)
class Frame:
    """What a task asks of predictions.

    Attributes:
        classes: The labels as text, sorted.
        all_labels: int16, of every row of the task's table its class as a position in ``classes``.
        labels: (rows,) int16, those of the tested rows.
        folds: (rows,) int16, the fold that tests each of them.
        rows: (rows,) int32, where they stand in the table, ascending.
    """

    task: OpenmlTask
    classes: tuple[str, ...]
    all_labels: np.ndarray
    labels: np.ndarray
    folds: np.ndarray
    rows: np.ndarray


def frame_of(task: OpenmlTask) -> Frame:
    """What a task asks of predictions.

    Raises:
        InputError: A fold tests no row, or a row has no class.
    """
    try:
        check_folds(task.folds)
    except InputError as error:
        raise InputError(f"task {task.number}: {error.message}") from error
    found = labels(task.table.columns[task.target], untyped=False)
    missing = int(np.count_nonzero(found.codes < 0))
    if missing:
        raise InputError(f"task {task.number}: {missing} rows have no {task.target!r}")
    codes = found.codes.astype(np.int16)
    rows = np.flatnonzero(task.folds >= 0).astype(np.int32)
    return Frame(task, found.levels, codes, codes[rows], task.folds[rows], rows)


def metatask_of(
    frame: Frame,
    taken: Sequence[Taken],
    selection: Selection,
    chosen: int | None,
    dropped: Mapping[str, str],
) -> Metatask:
    """The metatask of a task and the runs that it takes.

    Args:
        frame: The task.
        taken: Its models, in order.
        selection: How they were selected.
        chosen: How many runs were asked for by name; None where they were selected.
        dropped: By the name of a run that can't serve, why.
    """
    task = frame.task
    features = {
        name: column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for name, column in task.table.columns.items()
        if name != task.target
    }
    categorical = tuple(
        name for name in features if kind(task.table.columns[name], untyped=False) == "categorical"
    )
    return Metatask(
        name=str(task.number),
        dataset=task.dataset,
        target=task.target,
        classes=frame.classes,
        features=pa.table(features),
        categorical=categorical,
        labels=frame.all_labels,
        folds=task.folds,
        models=tuple(_model(one) for one in taken),
        tested=_stored(frame.rows, taken, len(frame.classes)),
        metric=selection.metric,
        constraints=constraints_of(selection, chosen, dropped),
    )


def constraints_of(
    selection: Selection, chosen: int | None, dropped: Mapping[str, str]
) -> dict[str, Any]:
    """How models were selected, in the original's words where it has some.

    Args:
        selection: How runs are selected.
        chosen: How many runs were asked for by name; None where they were selected.
        dropped: By the name of a run that can't serve, why.
    """
    return {
        "source": "openml",
        "openml_metric_name": selection.metric,
        "maximize_metric": selection.maximize,
        "nr_base_models": selection.top if chosen is None else chosen,
        "per_flow": selection.per_flow,
        "dropped": dict(dropped),
    }


def candidate_of(model: Model) -> Candidate:
    """The run that a metatask's model is."""
    return dataclasses.replace(
        named_candidate(model.name),
        flow_name=model.description,
        setup=model.origin.get("setup"),
        score=model.origin.get("score"),
    )


def _model(taken: Taken) -> Model:
    candidate = taken.candidate
    return Model(
        name=candidate.name,
        description=candidate.flow_name or "",
        origin={
            "flow": candidate.flow,
            "run": candidate.run,
            "setup": candidate.setup,
            "score": candidate.score,
        },
        findings=taken.checked.findings,
    )


def _stored(rows: np.ndarray, taken: Sequence[Taken], classes: int) -> Stored:
    predictions = np.empty((len(taken), len(rows)), dtype=np.int16)
    confidences = np.empty((len(taken), len(rows), classes))
    for index, one in enumerate(taken):
        predictions[index] = one.checked.predictions
        confidences[index] = one.checked.confidences
    return Stored(rows, predictions, confidences)
