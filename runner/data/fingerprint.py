"""What makes two tasks the same: their content, however it was stored and whatever it is called."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from runner.data.table import Coded
from runner.data.task import Column

_FORMAT = "task 1"


def fingerprint(
    columns: Sequence[Column],
    numeric: NDArray[np.float64],
    categorical: NDArray[np.int32],
    labels: Coded,
    positive: str,
    given_test: int,
    test_ids: Sequence[str] = (),
) -> str:
    """SHA-256 (hex) of all that a score can depend on.

    That is each column's name, kind and levels in order, every value, the order of the rows, the
    label of each row, the positive class and how many of the rows are for the test. The task's
    name, the file's format and the target's name are not in it. What test rows are called
    determines no score, but stands beside the predictions that are kept of them.

    Args:
        columns: The features in order.
        numeric: float64 (n, p), NaN for a gap.
        categorical: int32 (n, q), -1 for a gap.
        labels: Of the n rows; gaps where nobody here knows them.
        positive: The positive class's text.
        given_test: Rows from a separate test file.
        test_ids: What that file calls them, if it does.
    """
    digest = hashlib.sha256()

    def texts(values: Iterable[str]) -> None:
        for value in values:
            data = value.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)

    texts([_FORMAT, str(len(labels.codes)), str(given_test), positive, str(len(columns))])
    for column in columns:
        texts([column.name, column.kind, str(len(column.levels)), *column.levels])
    # Every NaN has the same bits here, since a NaN may carry any payload.
    values = np.where(np.isnan(numeric), np.nan, numeric)
    digest.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    digest.update(np.ascontiguousarray(categorical, dtype="<i4").tobytes())
    texts([str(len(labels.levels)), *labels.levels])
    digest.update(np.ascontiguousarray(labels.codes, dtype="<i4").tobytes())
    if test_ids:
        texts(["ids", *test_ids])
    return digest.hexdigest()
