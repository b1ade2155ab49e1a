"""From tables to a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from runner.data.fingerprint import fingerprint
from runner.data.table import Coded, Table, categories, kind, labels, numbers, stacked
from runner.data.target import binary_target
from runner.data.task import Column, Kind, Task, TaskError
from runner.errors import suggestion

_T = TypeVar("_T", np.float64, np.int32)


def assemble(
    train: Table,
    test: Table | None,
    *,
    name: str,
    target: str,
    positive: str | None,
    named_categorical: Sequence[str] = (),
    row_id: str | None = None,
) -> Task:
    """A task from a table and, where there is one, a table of test rows.

    Args:
        train: The rows to learn from and, without ``test``, to keep a part of for the test.
        test: Rows of the same columns, in any order of columns; the target may be missing where
            nobody here knows it.
        name: The task's name.
        target: The column of the classes; all others are features.
        positive: The positive class; None for the rarer one of two.
        named_categorical: Columns that are categories whatever they look like.
        row_id: A column that names the rows: no feature. Training rows may lack it where there
            is ``test``.

    Raises:
        TaskError: For whatever makes the task unusable.
    """
    test_ids: tuple[str, ...] = ()
    if row_id is not None:
        test_ids = _ids(train if test is None else test, row_id, target)
        train = _without(train, row_id)
        test = None if test is None else _without(test, row_id)
    _check_columns(train, test, target)
    _check_named(named_categorical, train, target)
    classes = binary_target(train, test, target, positive)
    tables = [train] if test is None else [train, test]
    columns, numeric, categorical = _features(tables, target, named_categorical)
    given_test = 0 if test is None else test.rows
    # With labels at hand nobody asks for the rows' names.
    test_ids = test_ids if (classes.labels.codes < 0).any() else ()
    _freeze(numeric, categorical, classes.y)
    return Task(
        name=name,
        fingerprint=fingerprint(
            columns, numeric, categorical, classes.labels, classes.positive, given_test, test_ids
        ),
        columns=tuple(columns),
        numeric=numeric,
        categorical=categorical,
        y=classes.y,
        positive=classes.positive,
        negative=classes.negative,
        given_test=given_test,
        test_ids=test_ids,
    )


def _ids(table: Table, name: str, target: str) -> tuple[str, ...]:
    """What a table's column calls its rows."""
    if name == target:
        raise TaskError(f"{name!r} is the target; rows are named by another column", key="id")
    if name not in table.columns:
        hint = suggestion(name, [column for column in table.columns if column != target])
        raise TaskError(f"{table.origin} has no column {name!r}: {hint}", key="id")
    try:
        found = labels(table.columns[name], untyped=table.untyped)
    except ValueError as error:
        raise TaskError(f"{table.origin}: column {name!r} {error}", key="id") from error
    counts = np.bincount(found.codes[found.codes >= 0], minlength=len(found.levels))
    if (found.codes < 0).any():
        raise TaskError(f"{table.origin}: {name!r} is missing in some rows", key="id")
    if counts.max() > 1:
        twice = found.levels[int(counts.argmax())]
        raise TaskError(
            f"{table.origin}: {name!r} is {twice!r} in {counts.max()} rows; it names each row by "
            "a value of its own",
            key="id",
        )
    return tuple(found.levels[code] for code in found.codes)


def _without(table: Table, name: str) -> Table:
    columns = {column: values for column, values in table.columns.items() if column != name}
    return replace(table, columns=columns)


def _check_columns(train: Table, test: Table | None, target: str) -> None:
    if target not in train.columns:
        hint = suggestion(target, train.columns)
        if len(train.columns) == 1 and train.untyped:
            hint = f"its only column is {next(iter(train.columns))!r}; commas separate columns"
        raise TaskError(f"{train.origin} has no column {target!r}: {hint}", key="target")
    if len(train.columns) == 1:
        raise TaskError(
            f"{train.origin} has no column besides the target; features are needed", key="file"
        )
    if test is None:
        return
    for here, there in ((train, test), (test, train)):
        lacking = [name for name in here.columns if name not in (target, *there.columns)]
        if lacking:
            raise TaskError(
                f"{there.origin} has no column {lacking[0]!r}, which {here.origin} has; both "
                "need the same columns",
                key=test.key,
            )


def _check_named(named: Sequence[str], train: Table, target: str) -> None:
    features = [name for name in train.columns if name != target]
    for name in named:
        if name not in features:
            raise TaskError(
                f"{train.origin} has no feature {name!r}: {suggestion(name, features)}",
                key="categorical",
            )


def _features(
    tables: Sequence[Table], target: str, named_categorical: Sequence[str]
) -> tuple[list[Column], NDArray[np.float64], NDArray[np.int32]]:
    columns: list[Column] = []
    numeric: list[NDArray[np.float64]] = []
    categorical: list[NDArray[np.int32]] = []
    for name in tables[0].columns:
        if name == target:
            continue
        if name not in named_categorical and _kind(tables, name) == "numeric":
            numeric.append(np.concatenate([_numbers(table, name) for table in tables]))
            columns.append(Column(name, "numeric"))
        else:
            column = stacked([_categories(table, name) for table in tables])
            categorical.append(column.codes)
            columns.append(Column(name, "categorical", column.levels))
    rows = sum(table.rows for table in tables)
    return (
        columns,
        _side_by_side(numeric, np.float64, rows),
        _side_by_side(categorical, np.int32, rows),
    )


def _kind(tables: Sequence[Table], name: str) -> Kind:
    """What a column is, by its training rows; nothing but gaps counts as numbers."""
    kinds = [_kind_in(table, name) for table in tables]
    known = [found for found in kinds if found is not None]
    chosen: Kind = known[0] if known else "numeric"
    for table, found in zip(tables, kinds, strict=True):
        # Digits in a file without types may as well be text.
        if found not in (chosen, None) and not (table.untyped and found == "numeric"):
            raise TaskError(
                f"{table.origin}: column {name!r} is {found}, in {tables[0].origin} it is "
                f"{chosen}; both need one kind",
                key=table.key,
            )
    return chosen


def _kind_in(table: Table, name: str) -> Kind | None:
    try:
        return kind(table.columns[name], untyped=table.untyped)
    except ValueError as error:
        raise TaskError(f"{table.origin}: column {name!r} {error}", key=table.key) from error


def _numbers(table: Table, name: str) -> NDArray[np.float64]:
    values = numbers(table.columns[name], untyped=table.untyped)
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise TaskError(
            f"{table.origin}: column {name!r} is infinite in {infinite} of {len(values)} rows; "
            "use a finite number or leave the cell empty",
            key=table.key,
        )
    return values


def _categories(table: Table, name: str) -> Coded:
    try:
        return categories(table.columns[name], untyped=table.untyped)
    except ValueError as error:
        raise TaskError(f"{table.origin}: column {name!r} {error}", key=table.key) from error


def _side_by_side(columns: Sequence[NDArray[_T]], dtype: type[_T], rows: int) -> NDArray[_T]:
    out = np.empty((rows, len(columns)), dtype=dtype)
    for j, column in enumerate(columns):
        out[:, j] = column
    return out


def _freeze(*arrays: NDArray[np.generic]) -> None:
    for array in arrays:
        array.setflags(write=False)
