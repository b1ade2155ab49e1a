"""Class labels keep their text, and the positive class is found by it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.data import FileSource, Task, TaskError, load

# What UTF-8 and a CSV cell can hold: no lone surrogates, no NUL; \r alone would end a row.
TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1, max_size=8
)
AWKWARD = st.sampled_from(
    ["None", "NA", "?", "nan", "NaN", "null", "", " ", "1", "1.0", "01", "True", "true", '"', "#"]
)
ON_DISK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def _written(path: Path, labels: list[Any], kind: str) -> Path:
    path = path / f"labels.{kind}"
    if kind == "parquet":
        pd.DataFrame({"x": range(len(labels)), "y": labels}).to_parquet(path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerows([["x", "y"], *enumerate(labels)])
    return path


def _load(folder: Path, labels: list[Any], positive: str | None, kind: str = "csv") -> Task:
    return load(FileSource(_written(folder, labels, kind), "y", positive), "t")


@ON_DISK
@given(
    classes=st.lists(st.one_of(TEXT, AWKWARD), min_size=2, max_size=4, unique=True),
    kind=st.sampled_from(["csv", "parquet"]),
    data=st.data(),
)
def test_text_round_trips(
    tmp_path: Path, classes: list[str], kind: str, data: st.DataObject
) -> None:
    if kind == "csv":
        classes = [text if text != "" else "empty" for text in classes]
    rows = classes + data.draw(st.lists(st.sampled_from(classes), max_size=6))
    positive = data.draw(st.sampled_from(classes))
    task = _load(tmp_path, rows, positive, kind)
    assert task.positive == positive
    assert list(task.y) == [int(row == positive) for row in rows]
    others = sorted(set(classes) - {positive})
    assert task.negative == (others[0] if len(others) == 1 else f"not {positive}")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("labels", "positive", "expected"),
    [
        ([True, False, False], "true", "True"),
        ([True, False, False], "TRUE", "True"),
        ([True, False, False], "False", "False"),
        (["true", "false"], "True", "true"),
        ([1, 0, 0], "1", "1"),
        ([1, 0, 0], "1.0", "1"),
        ([-1, 1, 1], "-1", "-1"),
        (["yes", "no"], "yes", "yes"),
        (["01", "1"], "1", "1"),
        (["True", "true"], "true", "true"),
    ],
)
def test_positive_by_text(
    tmp_path: Path, kind: str, labels: list[Any], positive: str, expected: str
) -> None:
    assert _load(tmp_path, labels, positive, kind).positive == expected


def test_whole_numbers_in_a_real_column(tmp_path: Path) -> None:
    assert _load(tmp_path, [1.0, 0.0, 0.0], "1", "parquet").positive == "1"
    assert _load(tmp_path, [1.0, 0.0, 0.0], "1", "csv").positive == "1.0"


@pytest.mark.parametrize(
    ("labels", "positive"),
    [(["YES", "no"], "yes"), (["01", "02"], "1"), (["1.5", "2"], "1"), (["True", "no"], "1")],
)
def test_no_such_class(tmp_path: Path, labels: list[str], positive: str) -> None:
    with pytest.raises(TaskError) as caught:
        _load(tmp_path, labels, positive)
    assert caught.value.key == "positive"


@pytest.mark.parametrize(
    ("labels", "positive"),
    [("aab", "b"), ("abb", "a"), ("ab", "b"), ("ba", "b"), ("zzaa", "z")],
)
def test_the_rarer_class_is_positive_and_of_two_equal_ones_the_last(
    tmp_path: Path, labels: str, positive: str
) -> None:
    assert _load(tmp_path, list(labels), None).positive == positive


def test_test_rows_do_not_choose_the_positive_class(tmp_path: Path) -> None:
    train = _written(tmp_path, list("aab"), "csv").rename(tmp_path / "train.csv")
    test = _written(tmp_path, list("abbbbbb"), "csv")
    assert load(FileSource(train, "y", test=test), "t").positive == "b"
