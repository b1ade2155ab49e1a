"""The predictions of a sweep's configurations, out of its store into a metatask's arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from runner.errors import InputError
from runner.metatask.metatask import Stored
from runner.metatask.sweep_rows import Candidate
from runner.store import Store

TEST_FOLD = 0
"""The fold of the test rows, where a task has them."""


class SweepPredictions:
    """The chosen configurations' predictions, as they come out of the store.

    Args:
        store: Where they are.
        chosen: The configurations, in the metatask's order.
        rows: How many the task has.
        own_folds: (rows,) the folds that the task brings; None where it has test rows instead.
        classes: The metatask's.

    Attributes:
        folds: (rows,) int16, as a metatask has them.
        tested: Of the test rows, or of all where the task has folds of its own.
        validation: Of the training rows, where there are test rows.
    """

    def __init__(
        self,
        store: Store,
        chosen: Sequence[Candidate],
        rows: int,
        own_folds: np.ndarray | None,
        classes: tuple[str, ...],
    ):
        self._store = store
        self._classes = classes
        self._chosen = chosen
        self._where = np.full(rows, -1)
        if own_folds is None:
            self._rows_of = self._read_rows(chosen[0])
            test = self._rows_of[None]
            self.folds = np.full(rows, -1, dtype=np.int16)
            self.folds[test] = TEST_FOLD
            self.tested = self._empty(test)
            trained = [ids for fold, ids in self._rows_of.items() if fold is not None]
            self._out_of_fold = self._empty(np.sort(np.concatenate(trained)))
            self.validation = {TEST_FOLD: self._out_of_fold}
        else:
            self._rows_of = {fold: np.flatnonzero(own_folds == fold) for fold in chosen[0].folds}
            self.folds = own_folds.astype(np.int16)
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
