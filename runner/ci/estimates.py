"""n, o and d on rows of predictions, as exact shares."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from runner.ci.condition import Variable
from runner.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Rows:
    """Predictions of two models on the same rows, with the rows' labels.

    Attributes:
        new: A class a row.
        old: Likewise, in the same order; None where no clause needs it.
        labels: Likewise; None for rows without.
        known: Whether a row's label is known, where only some are (active labelling); None for
            all. Where it isn't, what ``labels`` holds is not looked at.
    """

    new: NDArray[Any]
    old: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    known: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        for name in ("old", "labels", "known"):
            found = getattr(self, name)
            if found is not None and len(found) != len(self.new):
                raise InputError(
                    f"{len(found):,} rows of `{name}` stand beside {len(self.new):,} new "
                    "predictions; they must be the same rows"
                )

    def __len__(self) -> int:
        return len(self.new)

    def part(self, start: int, stop: int | None = None) -> Rows:
        """Some of the rows, in their order."""
        kept = slice(start, stop)
        parts = (self.old, self.labels, self.known)
        return Rows(self.new[kept], *(None if part is None else part[kept] for part in parts))


def estimates(rows: Rows) -> dict[Variable, Fraction]:
    """The variables that the rows tell something of, each a count over the number of rows.

    A row whose label isn't known counts as wrong for both models: n and o are then too small, but
    n - o is right if all rows on which the predictions differ are known.

    Raises:
        InputError: If there are no rows, or the label of a row of different predictions is missing.
    """
    if not len(rows):
        raise InputError("there are no rows to estimate anything on")
    found: dict[Variable, Fraction] = {}
    if rows.old is not None:
        found["d"] = _share(rows.new != rows.old)
    if rows.labels is None:
        return found
    _check_known(rows)
    found["n"] = _share(_right(rows.new, rows))
    if rows.old is not None:
        found["o"] = _share(_right(rows.old, rows))
    return found


def rows_to_label(rows: Rows) -> NDArray[Any]:
    """Indices of the rows that need a label yet, where n and o only occur as n - o.

    Args:
        rows: With ``known``, unless no label is.
    """
    import numpy as np

    if rows.old is None:
        raise InputError("which rows need a label is told by the predictions of both models")
    differ = rows.new != rows.old
    found: NDArray[Any] = np.flatnonzero(
        differ if rows.known is None else differ & ~rows.known.astype(bool)
    )
    return found


def _check_known(rows: Rows) -> None:
    if rows.known is None or bool(rows.known.all()):
        return
    missing = ~rows.known.astype(bool) if rows.old is None else None
    count = len(rows_to_label(rows)) if missing is None else int(missing.sum())
    if count:
        raise InputError(
            f"{count:,} rows lack a label that the condition needs; label the rows on which the "
            "predictions of the two models differ"
        )


def _right(predictions: NDArray[Any], rows: Rows) -> NDArray[Any]:
    right: NDArray[Any] = predictions == rows.labels
    return right if rows.known is None else right & rows.known.astype(bool)


def _share(marked: NDArray[Any]) -> Fraction:
    return Fraction(int(marked.sum()), len(marked))
