"""One model's predictions beside labels, a file a test set, as the share that a metric is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runner.ci.columns import read_columns, read_file
from runner.ci.relevant import SHARES, Counts, Share
from runner.errors import InputError

LABEL, PREDICTION = "label", "prediction"
METRICS = ("accuracy", *SHARES)


def read_share(path: Path, metric: str, positive: str | None) -> Share:
    """A metric's share in a file with the columns ``id``, ``label`` and ``prediction``.

    Args:
        metric: One of :data:`METRICS`.
        positive: The positive class; None for accuracy.

    Raises:
        InputError: If the file can't be read, a cell is empty, or the class doesn't occur.
    """
    content = read_file(path)
    labels = _complete(read_columns(content, path, LABEL).values, path, LABEL)
    predictions = _complete(read_columns(content, path, PREDICTION).values, path, PREDICTION)
    if not labels:
        raise InputError("has no rows", file=path)
    pairs = list(zip(labels, predictions, strict=True))
    if metric == "accuracy":
        return Share(sum(label == said for label, said in pairs), len(pairs))
    assert positive is not None
    if positive not in labels and positive not in predictions:
        raise InputError(f"has no row of the class {positive!r}", file=path)
    return SHARES[metric](_counts(pairs, positive))


def check_apart(paths: Sequence[Path]) -> None:
    """Refuse test sets that share rows: the same rows again are no evidence.

    Raises:
        InputError: With how many ids of the first such file stand in an earlier place.
    """
    before: dict[str, Path] = {}
    for path in paths:
        ids = read_columns(read_file(path), path, None).ids
        if len(set(ids)) < len(ids):
            raise InputError(f"{len(ids) - len(set(ids)):,} ids stand more than once", file=path)
        shared = [one for one in ids if one in before]
        if shared:
            raise InputError(
                f"{len(shared):,} of {len(ids):,} ids stand in {before[shared[0]]} too; test sets "
                "have rows of their own: name new rows otherwise",
                file=path,
            )
        before.update(dict.fromkeys(ids, path))


def _complete(values: Sequence[str | None], path: Path, name: str) -> list[str]:
    found = [value for value in values if value is not None]
    if len(found) < len(values):
        raise InputError(f"{len(values) - len(found):,} rows have no {name}", file=path)
    return found


def _counts(pairs: Sequence[tuple[str, str]], positive: str) -> Counts:
    found = {(truly, said): 0 for truly in (True, False) for said in (True, False)}
    for label, prediction in pairs:
        found[label == positive, prediction == positive] += 1
    return Counts(found[True, True], found[False, True], found[True, False], found[False, False])
