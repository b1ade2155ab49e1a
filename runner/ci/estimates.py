"""n, o and d on rows of predictions, as exact shares."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
        new_scores: A number a row: for AUC the score of the positive class (n,), or with several
            classes of each in their sorted order (n, classes); for RMSE the predicted number.
        old_scores: Likewise.
        earlier: Predictions of earlier models (models, n), for a rank among them.
        positive: The positive class as it is in ``labels``; None where it is as the file names it.
    """

    new: NDArray[Any]
    old: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    known: NDArray[Any] | None = None
    new_scores: NDArray[Any] | None = None
    old_scores: NDArray[Any] | None = None
    earlier: NDArray[Any] | None = None
    positive: Any = None

    def __post_init__(self) -> None:
        for name in ("old", "labels", "known", "new_scores", "old_scores", "earlier"):
            found = getattr(self, name)
            if name == "earlier" and found is not None:
                found = found.T
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
        names = ("old", "labels", "known", "new_scores", "old_scores")
        parts = {name: getattr(self, name) for name in names}
        found = {name: part[kept] for name, part in parts.items() if part is not None}
        earlier = None if self.earlier is None else self.earlier[:, kept]
        return replace(self, new=self.new[kept], earlier=earlier, **found)


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


def share_right(rows: Rows, predictions: NDArray[Any]) -> Fraction:
    """The share of rows that a model predicts right."""
    return _share(_right(predictions, rows))


def _right(predictions: NDArray[Any], rows: Rows) -> NDArray[Any]:
    right: NDArray[Any] = predictions == rows.labels
    return right if rows.known is None else right & rows.known.astype(bool)


def _share(marked: NDArray[Any]) -> Fraction:
    return Fraction(int(marked.sum()), len(marked))
