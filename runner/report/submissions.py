"""Predictions to be sent to a competition, which alone has the labels of the test rows."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from runner.errors import InputError
from runner.mlbench.setting import Setting
from runner.mlbench.study import Submission
from runner.replacing import replacing
from runner.store import Store

FOLDER = "submissions"
"""Where they go in a report's folder: ``submissions/TASK/SYSTEM.csv``."""
_SETTING = "select setting from runs where run_id = $run_id"
# The first repeat stands for all: with its seed a system predicts the same each time.
_REFIT = """
select key from evaluations
semi join (select unnest(planned_keys) as key from runs where run_id = $run_id) using (key)
where stage = 'test' and outcome = 'ok' and score is null and task_fingerprint = $fingerprint
    and system = $system and configuration = $configuration
order by repeat limit 1
"""
_PREDICTIONS = """
select row_ids, confidences, scores, ids from predictions where key = $key limit 1
"""


@dataclass(frozen=True)
class SubmissionFile:
    """A submission file.

    Attributes:
        entered: The score that came back for it; None where none was entered.
    """

    task: str
    system: str
    file: Path
    entered: float | None


def write_submissions(
    store: Store, run_id: str, summary: pa.Table, output: Path
) -> tuple[SubmissionFile, ...]:
    """Writes a file for the selected configuration of each system on each task without test labels.

    A file has a header and a line a test row, in the test file's order: what that file calls the
    row, else its number from 0, and the probability of the positive class.

    Args:
        store: The results.
        run_id: The run.
        summary: Its pairs, as ``runner.report.summary`` has them.
        output: The report's folder.

    Raises:
        InputError: A file can't be written.
    """
    (run,) = store.query(_SETTING, {"run_id": run_id}).to_pylist()
    tasks = {task.name: task for task in Setting.from_json(run["setting"]).tasks}
    written = []
    for pair in summary.to_pylist():
        task = tasks.get(pair["task"])
        if task is None or task.submission is None:
            continue
        file = output / FOLDER / pair["task"] / f"{pair['system']}.csv"
        found = _predictions(store, run_id, task.submission, pair)
        try:
            if found is None:
                # Of an earlier report, whose refit isn't this run's.
                file.unlink(missing_ok=True)
                continue
            _write(file, task.submission.header, found)
        except OSError as error:
            raise InputError(f"can't write here: {error.strerror or error}", file=file) from error
        written.append(SubmissionFile(pair["task"], pair["system"], file, pair["external_auc"]))
    return tuple(written)


def _predictions(
    store: Store, run_id: str, submission: Submission, pair: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """The predictions of the selected configuration's refit; None where there are none."""
    if pair["configuration"] is None:
        return None
    asked = {"system": pair["system"], "configuration": pair["configuration"]}
    asked |= {"run_id": run_id, "fingerprint": submission.fingerprint}
    refits = store.query(_REFIT, asked)["key"].to_pylist()
    if not refits:
        return None
    found: list[dict[str, Any]] = store.query(_PREDICTIONS, {"key": refits[0]}).to_pylist()
    return found[0] if found else None


def _write(file: Path, header: tuple[str, str], found: Mapping[str, Any]) -> None:
    with (
        replacing(file) as temporary,
        temporary.open("w", newline="", encoding="utf-8") as stream,
    ):
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(_lines(found))


def _lines(found: Mapping[str, Any]) -> Iterator[tuple[str | int, float]]:
    rows = np.array(found["row_ids"], dtype=np.int64)
    positive = np.array(found["confidences"], dtype=np.float64).reshape(len(rows), -1)[:, -1]
    names = found["ids"] or (rows - rows.min()).tolist()
    probabilities = in_order(positive, np.array(found["scores"], dtype=np.float64))
    yield from zip(names, probabilities.tolist(), strict=True)


def in_order(
    probabilities: NDArray[np.float64], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probabilities that order the rows as the scores do, and tie where these do.

    Far from 1/2 unequal scores round to one probability, and an AUC would suffer: such
    probabilities are moved apart by the least steps that a double can make.

    Args:
        probabilities: (n,) in [0, 1], not falling where scores rise, but for rounding.
        scores: (n,).
    """
    _, group = np.unique(scores, return_inverse=True)
    # Of numbers from 0 up, the bits read as whole numbers count the doubles below.
    steps = np.zeros(group.max() + 1, dtype=np.int64)
    np.maximum.at(steps, group, (probabilities + 0.0).view(np.int64))
    place = np.arange(len(steps))
    below = np.minimum.accumulate((steps - place)[::-1])[::-1] + place
    apart = np.maximum.accumulate(np.maximum(below, 0) - place) + place
    moved: NDArray[np.float64] = apart.view(np.float64)[group]
    return moved
