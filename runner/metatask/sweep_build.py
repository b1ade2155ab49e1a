"""Builds a metatask from a sweep: its best configurations, with the predictions it has stored.

Where a task has test rows they are the metatask's only fold, predicted by the refits, and the
predictions of the cross-validation are its validation predictions: each training row predicted by
a model that was trained without it. A task with folds of its own has no test rows; there the
predictions of the cross-validation are those of the metatask's folds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from runner.config import TaskEntry, find_task
from runner.data import BundledSource, FileSource, OpenmlSource, Task, TaskError, load
from runner.errors import InputError
from runner.metatask.integrity import examine
from runner.metatask.metatask import Metatask, Model, Stored
from runner.metatask.sweep_rows import Candidate, Candidates, SweepRun, read_candidates
from runner.store import Store

METRIC = "auc"
"""What a sweep's configurations are ranked by."""
TEST_FOLD = 0
"""The fold of the test rows, where a task has them."""


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
    usable = _usable(candidates, task, run, place)
    loaded = _load(run, place, task, candidates.fingerprint, whole=study is not None)
    chosen = usable[:top]
    arrays = _Arrays(store, loaded, chosen)
    arrays.fill()
    duplicates = arrays.duplicates()
    models = tuple(
        _model(candidate, arrays, number, run) for number, candidate in enumerate(chosen)
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
    return FromSweep(metatask, tuple(_notes(candidates, usable, top, duplicates)))


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


def _usable(candidates: Candidates, task: str, run: SweepRun, place: Path) -> tuple[Candidate, ...]:
    """The configurations that the store has all predictions of.

    Raises:
        InputError: There is none; says what to do.
    """
    usable = tuple(one for one in candidates.ranked if one.predicted)
    if any(one.refit is not None for one in candidates.ranked):
        usable = tuple(one for one in usable if one.refit is not None)
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
        f"{task}: of no configuration all predictions are stored; say `predictions: true`, and "
        f"with `refit: N` or `refit: all` of how many of each system, {again}",
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


class _Arrays:
    """The chosen configurations' predictions, as they come out of the store.

    Args:
        store: Where they are.
        loaded: The task.
        chosen: The configurations, in the metatask's order.

    Attributes:
        folds: (rows,) int16, as a metatask has them.
        tested: Of the test rows, or of all where the task has folds of its own.
        validation: Of the training rows, where there are test rows.
    """

    def __init__(self, store: Store, loaded: _Loaded, chosen: Sequence[Candidate]):
        self._store = store
        self._classes = loaded.classes
        self._chosen = chosen
        rows = len(loaded.task.y)
        self._where = np.full(rows, -1)
        own = loaded.task.folds
        if own is None:
            self._rows_of = self._read_rows(chosen[0])
            test = self._rows_of[None]
            self.folds = np.full(rows, -1, dtype=np.int16)
            self.folds[test] = TEST_FOLD
            self.tested = self._empty(test)
            trained = [ids for fold, ids in self._rows_of.items() if fold is not None]
            self._out_of_fold = self._empty(np.sort(np.concatenate(trained)))
            self.validation = {TEST_FOLD: self._out_of_fold}
        else:
            self._rows_of = {fold: np.flatnonzero(own == fold) for fold in chosen[0].folds}
            self.folds = own.astype(np.int16)
            self.tested = self._out_of_fold = self._empty(np.arange(rows))
            self.validation = {}

    def fill(self) -> None:
        """Read all predictions, each once.

        Raises:
            InputError: Some are of other rows than the first configuration's.
        """
        places = {
            key: (number, fold)
            for number, candidate in enumerate(self._chosen)
            for fold, key in _by_fold(candidate)
        }
        for key, rows, predicted, confidences in self._read(list(places)):
            number, fold = places.pop(key)
            if not np.array_equal(np.sort(rows), self._rows_of[fold]):
                raise InputError(
                    f"the predictions under key {key} are of other rows than those of its fold; "
                    "`runner results check` looks for more that is wrong",
                    file=self._store.path,
                )
            stored = self.tested if fold is None else self._out_of_fold
            stored.predictions[number, self._where[rows]] = predicted
            stored.confidences[number, self._where[rows]] = confidences
        if places:
            raise InputError(
                f"{len(places)} predictions were lost while they were read", file=self._store.path
            )

    def duplicates(self) -> int:
        """How many models predict in every row what an earlier one does."""
        seen = set()
        for number in range(len(self._chosen)):
            digest = hashlib.sha256()
            for part in (self.tested, *self.validation.values()):
                digest.update(part.confidences[number].data)
            seen.add(digest.digest())
        return len(self._chosen) - len(seen)

    def _read_rows(self, candidate: Candidate) -> dict[int | None, np.ndarray]:
        """By fold, None for the test rows, the rows that are predicted there, rising."""
        folds = {key: fold for fold, key in _by_fold(candidate)}
        found = {folds[key]: np.sort(rows) for key, rows, _, _ in self._read(list(folds))}
        if len(found) < len(folds):
            raise InputError("predictions were lost while they were read", file=self._store.path)
        return found

    def _empty(self, rows: np.ndarray) -> Stored:
        self._where[rows] = np.arange(len(rows))
        shape = (len(self._chosen), len(rows))
        return Stored(
            rows.astype(np.int32),
            np.zeros(shape, dtype=np.int16),
            np.zeros((*shape, len(self._classes)), dtype=np.float32),
        )

    def _read(
        self, keys: Sequence[str]
    ) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
        """Key, rows, predicted classes and confidences of some evaluations, in any order."""
        for batch in self._store.predictions(keys):
            columns = [
                batch.column(name)
                for name in ("key", "row_ids", "classes", "confidences", "labels")
            ]
            for key, rows, classes, confidences, labels in zip(*columns, strict=True):
                names = classes.as_py()
                order = [names.index(name) for name in self._classes]
                found = confidences.values.to_numpy().reshape(len(rows), len(names))
                coded = pc.index_in(labels.values, value_set=pa.array(self._classes))
                yield key.as_py(), rows.values.to_numpy(), coded.to_numpy(), found[:, order]


def _by_fold(candidate: Candidate) -> Iterator[tuple[int | None, str]]:
    yield from candidate.folds.items()
    if candidate.refit is not None:
        yield None, candidate.refit


def _model(candidate: Candidate, arrays: _Arrays, number: int, run: SweepRun) -> Model:
    findings = [
        finding
        for part in (arrays.tested, *arrays.validation.values())
        for finding in examine(part.predictions[number], part.confidences[number])
    ]
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
    taken = usable[:top]
    ahead = sum(one not in taken for one in candidates.ranked[: len(taken)])
    if ahead:
        yield f"of the {len(taken)} best {ahead} lack predictions; the next ones are taken instead"
    if duplicates:
        yield (
            f"{duplicates} of the models predict in every row what an earlier one does "
            "(`runner metatask filter --drop-duplicates` drops them)"
        )
