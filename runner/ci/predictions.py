"""Old and new predictions, joined to the test set's labels and to its pool, one to one by id."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
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
    """The rows of a test set and of its pool.

    Attributes:
        ids: In the order in which rows are judged.
        labels: Likewise, None where one isn't known yet; None for a test set without labels.
        pool: Ids of the rows without labels; None where there is no pool.
        identity: What tells this test set from others, wherever its file is and however sorted. Of
            labels nothing goes into it: who may read a ledger could try labels against a hash.
        of_ids: A hash of the ids alone; the identity, unless only a name or a pool tells that.
    """

    ids: Sequence[str]
    labels: list[str | None] | None
    pool: Sequence[str] | None
    identity: str
    of_ids: str

    @property
    def known(self) -> int:
        """How many labels there are."""
        return 0 if self.labels is None else len(self.labels) - self.labels.count(None)


@dataclass(frozen=True)
class Joined:
    """Predictions beside their labels, as class numbers.

    Attributes:
        pool: None where there is none, or where the pool is the test set.
        models: A hash of the new model's predictions, and one of the old model's if there is one.
        digest: Of both models' predictions, by id; the files' format and order don't matter.
        predicted: The new model's classes, as text, in the order of ``tested``.
        numbers: Class numbers by class.
    """

    tested: Rows
    pool: Rows | None
    models: tuple[str, ...]
    digest: str
    predicted: Sequence[str | None]
    numbers: Mapping[str | None, int]

    @property
    def largest(self) -> int:
        """Rows of the larger of test set and pool."""
        return max(len(self.tested), 0 if self.pool is None else len(self.pool))


def held_out(labels: Columns | None, pool: Columns | None) -> HeldOut | None:
    """The rows of a test set; None where no file says which they are.

    Raises:
        CannotRunError: If an id stands twice.
        InputError: If rows of the pool are in the test set.
    """
    if labels is not None:
        _check_unique(labels, "the labels")
    if pool is not None:
        _check_unique(pool, "the pool")
    if labels is None:
        return None if pool is None else _unlabelled(pool, "pool", sorted(pool.ids))
    if pool is not None:
        _check_apart(labels, pool)
    order = _judging_order(labels.ids)
    ids = [labels.ids[i] for i in order]
    values = [labels.values[i] for i in order]
    identity = digest("ids", sorted(ids))
    return HeldOut(ids, values, None if pool is None else sorted(pool.ids), identity, identity)


def held_out_by_name(new: Columns, name: str) -> HeldOut:
    """The rows of a test set that only its name tells from others: those that are predicted.

    Raises:
        CannotRunError: If an id stands twice.
    """
    _check_unique(new, "the new model's predictions")
    return _unlabelled(new, "name", name)


def _unlabelled(found: Columns, kind: str, identity: Any) -> HeldOut:
    ids = [found.ids[i] for i in _judging_order(found.ids)]
    return HeldOut(ids, None, None, digest(kind, identity), digest("ids", sorted(ids)))


def read_predictions(path: Path) -> Columns:
    """A model's predictions: a column ``id`` and a column ``prediction``, Parquet or CSV.

    Raises:
        InputError: If they can't be read.
        CannotRunError: If a row has none.
    """
    found = read_columns(read_file(path), path, PREDICTION)
    empty = found.values.count(None)
    if empty:
        raise CannotRunError(f"{empty:,} rows have no prediction", file=path)
    return found


def join(
    rows: HeldOut,
    new: Columns,
    old: Columns | None,
    positive: str | None = None,
    classes: bool = True,
) -> Joined:
    """Put predictions beside labels.

    Args:
        positive: The positive class, where a metric needs one.
        classes: Whether predictions are classes, as labels are.

    Raises:
        CannotRunError: If they don't match one to one, with how many and the first ids.
    """
    wanted = [*rows.ids, *(rows.pool or ())]
    columns = [aligned(wanted, new, "the new model's predictions")]
    if old is not None:
        columns.append(aligned(wanted, old, "the old model's predictions"))
    told = digest("predictions", [wanted, *columns])
    if old is not None and classes:
        _check_classes(columns[1], columns[0], new.path)
    numbers: dict[str | None, int] = {None: -1}
    codes = [_codes(column, numbers) for column in columns]
    count = len(rows.ids)
    tested = Rows(*(part[:count] for part in codes))
    if rows.labels is not None:
        labels = _codes(rows.labels, numbers)
        known = None if rows.known == count else labels >= 0
        number = None if positive is None else numbers.setdefault(positive, len(numbers))
        tested = Rows(tested.new, tested.old, labels, known, positive=number)
    pool = None if rows.pool is None else Rows(*(part[count:] for part in codes))
    models = tuple(digest("model", [wanted, column]) for column in columns)
    return Joined(tested, pool, models, told, columns[0][:count], numbers)


def digest(what: str, content: Any) -> str:
    """A hash of plain values, which says what they are."""
    text = json.dumps([what, content], separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _judging_order(ids: Sequence[str]) -> Sequence[int]:
    """Indices that put rows into an order which neither the file nor the labels decide.

    Some bounds make a first estimate on the first rows, which in a sorted file aren't like the
    others. Of numpy's generators only this one promises the same numbers for good.
    """
    import numpy as np

    ordered = sorted(range(len(ids)), key=ids.__getitem__)
    return [ordered[i] for i in np.random.RandomState(0).permutation(len(ids))]


def aligned(wanted: Sequence[str], found: Columns, what: str) -> list[str | None]:
    """The classes of a file in the order of the wanted ids."""
    _check_unique(found, what)
    by_id = dict(zip(found.ids, found.values, strict=True))
    if len(by_id) == len(wanted) and by_id.keys() >= set(wanted):
        return [by_id[one] for one in wanted]
    known = set(wanted)
    missing = [one for one in wanted if one not in by_id]
    extra = [one for one in found.ids if one not in known]
    faults = [
        f"{len(ids):,} {of} (the first: {_first(ids)})"
        for ids, of in ((sorted(missing), "are missing"), (extra, "are not in the test set"))
        if ids
    ]
    raise CannotRunError(
        f"{what} must be one for each row of the test set: of {len(wanted):,} rows "
        f"{' and '.join(faults)}",
        file=found.path,
    )


def _check_unique(found: Columns, what: str) -> None:
    if len(set(found.ids)) == len(found.ids):
        return
    repeated = [one for one, count in Counter(found.ids).items() if count > 1]
    raise CannotRunError(
        f"{len(repeated):,} ids stand more than once among {what} "
        f"(the first: {_first(repeated)}); each row has one",
        file=found.path,
    )


def _check_apart(labels: Columns, pool: Columns) -> None:
    held = set(labels.ids)
    shared = [one for one in pool.ids if one in held]
    if shared:
        raise InputError(
            f"{len(shared):,} rows of the pool are in the test set too "
            f"(the first: {_first(shared)}); d must be estimated on rows of its own",
            file=pool.path,
        )


def _check_classes(old: Sequence[str | None], new: Sequence[str | None], path: Path) -> None:
    """Refuse predictions in other words than the old model's.

    Labels aren't asked: a refusal counts no step, and by refusals one could try which classes they
    have. Of an old model that says the same of all rows nothing can be told.
    """
    words = set(old)
    if len(words) > 1 and words.isdisjoint(new):
        distinct = sorted({str(found) for found in new})
        raise CannotRunError(
            "not one prediction is a class that the old model predicts; predictions are classes, "
            f"written as in the labels, and here they are {_first(distinct)}",
            file=path,
        )


def _codes(values: Sequence[str | None], numbers: dict[str | None, int]) -> NDArray[Any]:
    """Class numbers instead of text; new classes get the next ones."""
    import numpy as np

    codes: NDArray[Any] = np.array(
        [numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64
    )
    return codes


def _first(values: Sequence[str | None]) -> str:
    shown = ", ".join(repr(value) for value in values[:_SHOWN])
    return shown + (", ..." if len(values) > _SHOWN else "")
