"""Old and new predictions, joined to the test set's labels and to its pool, one to one by id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.ci.columns import Columns, read_columns, read_file
from runner.ci.estimates import Rows
from runner.errors import CannotRunError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

PREDICTION = "prediction"
_SHOWN = 3


@dataclass(frozen=True)
class HeldOut:
    """The rows of a test set and of its pool; Arrow arrays of text.

    Attributes:
        ids: In the order in which rows are judged.
        labels: Likewise, null where one isn't known yet; None for a test set without labels.
        pool: Ids of the rows without labels; None where there is no pool.
        identity: What tells this test set from others, wherever its file is and however sorted.
        partial: The identity that it has while some labels aren't known; of the ids alone.
    """

    ids: Any
    labels: Any
    pool: Any
    identity: str
    partial: str

    @property
    def known(self) -> int:
        """How many labels there are."""
        return 0 if self.labels is None else len(self.labels) - int(self.labels.null_count)


@dataclass(frozen=True)
class Joined:
    """Predictions beside their labels, as class numbers.

    Attributes:
        pool: None where there is none, or where the pool is the test set.
        digest: Of both models' predictions, by id; the files' format and order don't matter.
    """

    tested: Rows
    pool: Rows | None
    digest: str

    @property
    def largest(self) -> int:
        """Rows of the larger of test set and pool."""
        return max(len(self.tested), 0 if self.pool is None else len(self.pool))


def held_out(labels: Columns | None, pool: Columns | None) -> HeldOut | None:
    """The rows of a test set; None where no file says which they are.

    Raises:
        CannotRunError: If an id stands twice.
    """
    if labels is not None:
        _check_unique(labels, "the labels")
    if pool is not None:
        _check_unique(pool, "the pool")
    if labels is not None and pool is not None:
        _check_apart(labels, pool)
    held = labels or pool
    if held is None:
        return None
    order = _judging_order(held.ids)
    ids = held.ids.take(order)
    values = None if labels is None else labels.values.take(order)
    return HeldOut(
        ids,
        values,
        None if labels is None or pool is None else pool.ids.take(_judging_order(pool.ids)),
        digest("labels" if labels else "pool", _pairs(ids, values)),
        digest("ids", ids.to_pylist()),
    )


def held_out_by_name(new: Columns, name: str) -> HeldOut:
    """The rows of a test set that only its name tells from others: those that are predicted."""
    _check_unique(new, "the new model's predictions")
    ids = new.ids.take(_judging_order(new.ids))
    return HeldOut(ids, None, None, digest("name", name), digest("ids", ids.to_pylist()))


def read_predictions(path: Path) -> Columns:
    """A model's predictions: a column ``id`` and a column ``prediction``, Parquet or CSV.

    Raises:
        InputError: If they can't be read.
        CannotRunError: If a row has none.
    """
    found = read_columns(read_file(path), path, PREDICTION)
    if found.values.null_count:
        raise CannotRunError(f"{found.values.null_count:,} rows have no prediction", file=path)
    return found


def join(rows: HeldOut, new: Columns, old: Columns | None) -> Joined:
    """Put predictions beside labels.

    Raises:
        CannotRunError: If they don't match one to one, with how many and the first ids.
    """
    import pyarrow as pa

    parts = [rows.ids] if rows.pool is None else [rows.ids, rows.pool]
    wanted = pa.concat_arrays(parts)
    columns = [_aligned(wanted, new, "the new model's predictions")]
    if old is not None:
        columns.append(_aligned(wanted, old, "the old model's predictions"))
    told = digest("predictions", [column.to_pylist() for column in (wanted, *columns)])
    if rows.labels is not None:
        _check_classes(rows.labels, columns[0], new.path)
        unlabelled = pa.nulls(len(wanted) - len(rows.ids), pa.string())
        columns.append(pa.concat_arrays([rows.labels, unlabelled]))
    codes = _codes(columns)
    count = len(rows.ids)
    before = None if old is None else codes[1]
    tested = Rows(
        codes[0][:count],
        None if before is None else before[:count],
        *_labels(rows, codes[-1][:count]),
    )
    pool = None
    if rows.pool is not None:
        pool = Rows(codes[0][count:], None if before is None else before[count:])
    return Joined(tested, pool, told)


def digest(what: str, content: Any) -> str:
    """A hash of plain values, which says what they are."""
    text = json.dumps([what, content], separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _labels(rows: HeldOut, codes: NDArray[Any]) -> tuple[Any, Any]:
    if rows.labels is None:
        return None, None
    return codes, None if rows.known == len(rows.ids) else codes >= 0


def _pairs(ids: Any, values: Any) -> list[Any]:
    return [ids.to_pylist(), None if values is None else values.to_pylist()]


def _judging_order(ids: Any) -> NDArray[Any]:
    """Indices that put rows into an order which neither the file nor the labels decide.

    Some bounds make a first estimate on the first rows, which in a sorted file aren't like the
    others. Of numpy's generators only this one promises the same numbers for good.
    """
    import numpy as np
    import pyarrow.compute as pc

    ordered = pc.sort_indices(ids).to_numpy()
    shuffled: NDArray[Any] = ordered[np.random.RandomState(0).permutation(len(ordered))]
    return shuffled


def _aligned(wanted: Any, found: Columns, what: str) -> Any:
    """The classes of a file in the order of the wanted ids."""
    import pyarrow.compute as pc

    _check_unique(found, what)
    at = pc.index_in(wanted, value_set=found.ids)
    missing = wanted.filter(pc.is_null(at))
    extra = found.ids.filter(pc.invert(pc.is_in(found.ids, value_set=wanted)))
    faults = [
        f"{len(ids):,} {of} (the first: {_first(ids)})"
        for ids, of in ((missing, "are missing"), (extra, "are not in the test set"))
        if len(ids)
    ]
    if faults:
        raise CannotRunError(
            f"{what} must be one for each row of the test set: of {len(wanted):,} rows "
            f"{' and '.join(faults)}",
            file=found.path,
        )
    return found.values.take(at)


def _check_unique(found: Columns, what: str) -> None:
    import pyarrow.compute as pc

    if pc.count_distinct(found.ids).as_py() == len(found.ids):
        return
    counts = pc.value_counts(found.ids)
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    raise CannotRunError(
        f"{len(repeated):,} ids stand more than once among {what} "
        f"(the first: {_first(repeated)}); each row has one",
        file=found.path,
    )


def _check_apart(labels: Columns, pool: Columns) -> None:
    import pyarrow.compute as pc

    shared = pool.ids.filter(pc.is_in(pool.ids, value_set=labels.ids))
    if len(shared):
        raise InputError(
            f"{len(shared):,} rows of the pool are in the test set too "
            f"(the first: {_first(shared)}); d must be estimated on rows of its own",
            file=pool.path,
        )


def _check_classes(labels: Any, predictions: Any, path: Path) -> None:
    """Refuse predictions in other words than the labels; which those are stays unsaid."""
    import pyarrow.compute as pc

    known = labels.drop_null()
    if not len(known) or pc.any(pc.is_in(predictions, value_set=known)).as_py():
        return
    raise CannotRunError(
        "not one prediction is a class that the labels have; predictions are classes, written as "
        f"in the labels, and here they are {_first(pc.unique(predictions))}",
        file=path,
    )


def _codes(columns: Sequence[Any]) -> list[NDArray[Any]]:
    """Class numbers instead of text, -1 for none; the same in all columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = pa.concat_arrays(list(columns)).dictionary_encode().indices
    flat = pc.fill_null(encoded, -1).to_numpy()
    size = len(columns[0])
    return [flat[i * size : (i + 1) * size] for i in range(len(columns))]


def _first(values: Any) -> str:
    shown = ", ".join(repr(value) for value in values[:_SHOWN].to_pylist())
    return shown + (", ..." if len(values) > _SHOWN else "")
