"""From the text of a target to two classes."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runner.data.table import Coded, Table, labels, stacked
from runner.data.task import UNLABELLED, TaskError
from runner.errors import suggestion

_WHOLE = re.compile(r"([+-]?\d+)\.0*")

MOST_CLASSES = 50
"""With more values than this a target looks like a number to predict."""


@dataclass(frozen=True)
class Target:
    """Two classes.

    Attributes:
        labels: The texts of all rows, test rows last; gaps in test rows without labels.
        y: uint8 (n,), 1 where the label is ``positive``, ``UNLABELLED`` where there is none.
        negative: The other label, or ``not X`` where there are several.
    """

    labels: Coded
    y: NDArray[np.uint8]
    positive: str
    negative: str


def binary_target(train: Table, test: Table | None, name: str, positive: str | None) -> Target:
    """The positive class and the rest.

    Args:
        train: The table that says which classes there are.
        test: A separate test table, whose labels must be among them, or missing in every row.
        name: The target's column.
        positive: The positive class; None for the rarer one of two (of two equally frequent
            ones that which sorts last).

    Raises:
        TaskError: For missing labels, one class only, more than two without ``positive``, a
            positive class that isn't there, and test rows of unknown or of one class only.
    """
    key = "target" if train.key == "file" else train.key
    known = _labels(train, name, key)
    _check_classes(known, name, key, positive)
    chosen = _rarer(known) if positive is None else _match(positive, known.levels, name)
    parts = [known]
    if test is not None:
        parts.append(_test_labels(test, name, known, chosen))
    all_labels = stacked(parts)
    y = (all_labels.codes == all_labels.levels.index(chosen)).astype(np.uint8)
    y[all_labels.codes < 0] = UNLABELLED
    others = [level for level in known.levels if level != chosen]
    negative = others[0] if len(others) == 1 else f"not {chosen}"
    return Target(all_labels, y, chosen, negative)


def _labels(table: Table, name: str, key: str) -> Coded:
    found = _texts(table, name, key)
    missing = int((found.codes < 0).sum())
    if missing:
        raise TaskError(
            f"{table.origin}: target {name!r} is missing in {missing} of {len(found.codes)} rows; "
            "leave these rows out or label them",
            key=key,
        )
    return found


def _texts(table: Table, name: str, key: str) -> Coded:
    try:
        return labels(table.columns[name], untyped=table.untyped)
    except ValueError as error:
        raise TaskError(f"{table.origin}: target {name!r} {error}", key=key) from error


def _check_classes(known: Coded, name: str, key: str, positive: str | None) -> None:
    if len(known.levels) == 1:
        raise TaskError(
            f"target {name!r} is {known.levels[0]!r} in every row; two classes are needed", key=key
        )
    if len(known.levels) > MOST_CLASSES and positive is None:
        raise TaskError(
            f"target {name!r} has {len(known.levels)} different values, as a numeric target has, "
            "and sweeps are binary: choose a target with two classes; `positive:` would set a "
            "single value against the rest",
            key=key,
        )
    if len(known.levels) > 2 and positive is None:
        raise TaskError(
            f"target {name!r} has {len(known.levels)} values ({_listed(known.levels)}) and sweeps "
            "are binary: name the class to set against the rest with `positive:`",
            key=key,
        )


def _rarer(known: Coded) -> str:
    counts = np.bincount(known.codes, minlength=len(known.levels))
    return known.levels[0] if counts[0] < counts[1] else known.levels[1]


def _match(positive: str, classes: tuple[str, ...], name: str) -> str:
    """The class that ``positive`` means: the same text, boolean or whole number."""
    for same in (str, _boolean, _whole):
        wanted = same(positive)
        found = [label for label in classes if wanted is not None and same(label) == wanted]
        if len(found) == 1:
            return found[0]
    raise TaskError(
        f"target {name!r} has no class {positive!r}: {suggestion(positive, classes)}",
        key="positive",
    )


def _boolean(text: str) -> str | None:
    return text.lower() if text.lower() in ("true", "false") else None


def _whole(text: str) -> str | None:
    match = _WHOLE.fullmatch(text)
    return match[1] if match else text


def _test_labels(test: Table, name: str, known: Coded, positive: str) -> Coded:
    if name not in test.columns or (_texts(test, name, test.key).codes < 0).all():
        return Coded(np.full(test.rows, -1, dtype=np.int32), ())
    found = _labels(test, name, test.key)
    unknown = sorted(set(found.levels) - set(known.levels))
    if unknown:
        raise TaskError(
            f"{test.origin}: target {name!r} has {_listed(unknown)}, which the training rows "
            f"don't have: they have {_listed(known.levels)}",
            key=test.key,
        )
    if found.levels == (positive,) or positive not in found.levels:
        only = "" if positive in found.levels else "not "
        raise TaskError(
            f"{test.origin}: every row's {name!r} is {only}{positive!r}; a score needs rows of "
            "both classes",
            key=test.key,
        )
    return found


def _listed(levels: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(repr(level) for level in levels[:4])
    return f"{shown}, ..." if len(levels) > 4 else shown
