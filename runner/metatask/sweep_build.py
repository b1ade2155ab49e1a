"""Builds a metatask from a sweep: its best configurations, with the predictions it has stored.

Where a task has test rows they are the metatask's only fold, predicted by the refits, and the
predictions of the cross-validation are its validation predictions: each training row predicted by
a model that was trained without it. A task with folds of its own has no test rows; there the
predictions of the cross-validation are those of the metatask's folds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from runner.config import TaskEntry, find_task
from runner.data import BundledSource, FileSource, OpenmlSource, Task, TaskError, load
from runner.errors import InputError
from runner.metatask.integrity import examine
from runner.metatask.metatask import Finding, Metatask, Model, Stored
from runner.metatask.sweep_predictions import SweepPredictions
from runner.metatask.sweep_rows import Candidate, Candidates, SweepRun, read_candidates
from runner.metrics import auc
from runner.store import Store

METRIC = "auc"
"""What a sweep's configurations are ranked by."""
TOLD_DIFFERENCE = 0.001
"""From this difference on between a row's AUC and that of its stored probabilities it is told."""


@dataclass(frozen=True)
class FromSweep:
    """A metatask made from a sweep.

    Attributes:
        notes: What a person should know of how it came about.
    """

    metatask: Metatask
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Loaded:
    """A task as the study has it today, and the same as when its rows were made."""

    task: Task
    dataset: str
    target: str

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(sorted((self.task.negative, self.task.positive)))

    @property
    def labels(self) -> np.ndarray:
        """(rows,) int16, positions in the classes."""
        positive = self.classes.index(self.task.positive)
        return np.where(self.task.y == 1, positive, 1 - positive).astype(np.int16)


def build(store: Store, run: SweepRun, task: str, top: int, study: Path | None = None) -> FromSweep:
    """The metatask of a sweep's task: the best configurations of all systems as its models.

    Args:
        store: The sweep's results.
        run: The run whose rows count.
        task: The task's name in the study.
        top: Take so many configurations, those of the best mean score over the folds; of equal
            ones first the earlier system's, then the lower configuration_id.
        study: The study's file, where it isn't any more where the run says.

    Raises:
        InputError: The run or the study lacks the task, its data aren't what they were, or the
            store lacks the predictions.
    """
    candidates = read_candidates(store, run, task)
    place = _study_file(store, run, study)
    loaded = _load(run, place, task, candidates.fingerprint, whole=study is not None)
    usable = _usable(candidates, task, run, place, refitted=loaded.task.folds is None)
    chosen = usable[:top]
    arrays = SweepPredictions(store, chosen, len(loaded.task.y), loaded.task.folds, loaded.classes)
    arrays.fill()
    duplicates = arrays.duplicates()
    models = tuple(
        _model(candidate, arrays, number, run, loaded) for number, candidate in enumerate(chosen)
    )
    metatask = Metatask(
        name=task,
        dataset=loaded.dataset,
        target=loaded.target,
        classes=loaded.classes,
        features=_features(loaded.task),
        categorical=tuple(column.name for column in loaded.task.categorical_columns()),
        labels=loaded.labels,
        folds=arrays.folds,
        models=models,
        tested=arrays.tested,
        validation=arrays.validation,
        metric=METRIC,
        constraints={
            "study": run.study,
            "run": run.run_id,
            "top": top,
            "complete": len(candidates.ranked),
            "incomplete": candidates.incomplete,
            "with predictions": len(usable),
            "duplicates": duplicates,
        },
    )
    notes = [*_notes(candidates, usable, top, duplicates), *_remarks(models)]
    return FromSweep(metatask, tuple(notes))


def _study_file(store: Store, run: SweepRun, study: Path | None) -> Path:
    if study is not None:
        if not study.is_file():
            raise InputError("there is no such file", file=study)
        return study
    if run.config_path is None:
        raise InputError(
            f"run {run.run_id} doesn't say where its study's file is; name it with --study",
            file=store.path,
        )
    return run.config_path


def _usable(
    candidates: Candidates, task: str, run: SweepRun, place: Path, *, refitted: bool
) -> tuple[Candidate, ...]:
    """The configurations that the store has all predictions of.

    Args:
        refitted: Whether those of test rows are wanted too.

    Raises:
        InputError: There is none; says what to do.
    """
    usable = tuple(
        one
        for one in candidates.ranked
        if one.predicted and (one.refit is not None or not refitted)
    )
    if usable:
        return usable
    again = f"and run `runner sweep {place}` again: what it has already is kept"
    if not candidates.ranked:
        raise InputError(f"{task}: no configuration has all folds ok, in run {run.run_id}")
    if not candidates.any_predicted:
        raise InputError(
            f"{task}: no predictions are stored; say `predictions: true` in the study, {again}",
            file=place,
        )
    raise InputError(
        f"{task}: no configuration has the predictions of all folds and of the test rows; say "
        f"`predictions: true` in the study, {again}",
        file=place,
    )


def _load(run: SweepRun, place: Path, name: str, fingerprint: str, *, whole: bool) -> _Loaded:
    """The task's data, by the study's text.

    Args:
        whole: Whether the file at ``place`` counts with what it says today, not only as the place
            from which the run's text tells files.
    """
    text = place.read_text(encoding="utf-8-sig") if whole else run.config
    entry, line = find_task(place, text, name)
    try:
        task = load(entry.source, name)
    except TaskError as error:
        raise InputError(
            f"{error.message}; where study or data were moved, name the study's file with --study",
            file=place,
            line=line,
        ) from error
    if task.fingerprint != fingerprint:
        raise InputError(
            f"task {name!r} isn't the data that its rows were computed on: they were changed "
            f"since; put them back, or run `runner sweep {place}` again",
            file=place,
            line=line,
        )
    if not task.has_test_labels:
        raise InputError(
            f"the test rows of task {name!r} have no labels, so that no ensemble can be scored "
            "on them; leave its `test` out, and a part of the rows is kept for that",
            file=place,
            line=line,
        )
    return _named(task, entry)


def _named(task: Task, entry: TaskEntry) -> _Loaded:
    source = entry.source
    if isinstance(source, OpenmlSource):
        from runner.data.openml_task import read_openml

        found = read_openml(source.number)
        return _Loaded(task, found.dataset, found.target)
    if isinstance(source, BundledSource):
        from runner.data.bundled import TARGET

        return _Loaded(task, source.dataset, TARGET)
    assert isinstance(source, FileSource)
    return _Loaded(task, task.name, source.target)


def _model(
    candidate: Candidate, arrays: SweepPredictions, number: int, run: SweepRun, loaded: _Loaded
) -> Model:
    findings = [
        finding
        for part in (arrays.tested, *arrays.validation.values())
        for finding in examine(part.predictions[number], part.confidences[number])
    ]
    if candidate.test_score is not None and not findings:
        findings += _ties(arrays.tested, number, candidate.test_score, loaded)
    return Model(
        name=f"{candidate.system}-{candidate.configuration_id}",
        description=f"{candidate.system} {candidate.configuration}",
        origin={
            "system": candidate.system,
            "configuration_id": candidate.configuration_id,
            "configuration": json.loads(candidate.configuration),
            "run": run.run_id,
            "cv_auc": candidate.mean,
            **({} if candidate.test_score is None else {"test_auc": candidate.test_score}),
        },
        findings=tuple(findings),
        train_seconds=candidate.seconds,
    )


def _ties(tested: Stored, number: int, score: float, loaded: _Loaded) -> Iterator[Finding]:
    """Whether probabilities that round to 0 or 1 order the test rows much less than margins did."""
    # As metrics see two classes: by the second one's confidence.
    found = tested.confidences[number, :, 1].astype(np.float64)
    area = auc(loaded.labels[tested.rows], found)
    if abs(area - score) >= TOLD_DIFFERENCE:
        tied = int(np.isin(found, (0.0, 1.0)).sum())
        yield Finding(
            "ties",
            tied,
            True,
            f"{tied} probabilities of test rows are 0 or 1 after rounding and tie: their AUC is "
            f"{area:.4f}, that of what the model orders by, in the sweep's row, {score:.4f}",
        )


def _features(task: Task) -> pa.Table:
    """The task's table, gaps as nulls, categories as text."""
    numeric, categorical = iter(task.numeric.T), iter(task.categorical.T)
    columns: Mapping[str, pa.Array] = {
        column.name: pa.array(next(numeric), from_pandas=True)
        if column.kind == "numeric"
        else _texts(next(categorical), column.levels)
        for column in task.columns
    }
    return pa.table(columns)


def _texts(codes: np.ndarray, levels: tuple[str, ...]) -> pa.Array:
    return pa.array(levels, pa.string()).take(pa.array(codes, mask=codes < 0))


def _notes(
    candidates: Candidates, usable: Sequence[Candidate], top: int, duplicates: int
) -> Iterator[str]:
    if len(usable) < top:
        most = len(candidates.ranked)
        yield f"{len(usable)} models, not {top}: of {most} configurations with all folds ok " + (
            "that is all"
            if len(usable) == most
            else f"only {len(usable)} have test predictions (`refit: N` or `refit: all` in the "
            "study keeps more)"
        )
    if candidates.incomplete:
        yield f"{candidates.incomplete} configurations lack folds, or some of theirs aren't ok"
    taken = usable[:top]
    ahead = sum(one not in taken for one in candidates.ranked[: len(taken)])
    if ahead:
        yield f"of the {len(taken)} best {ahead} lack predictions; the next ones are taken instead"
    if duplicates:
        yield (
            f"{duplicates} of the models predict in every row what an earlier one does "
            "(`runner metatask filter --drop-duplicates` drops them)"
        )


def _remarks(models: Sequence[Model]) -> Iterator[str]:
    found = [model.name for model in models if model.findings]
    if found:
        yield f"{len(found)} with findings, which `runner metatask show` tells: {', '.join(found)}"
