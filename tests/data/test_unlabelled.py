"""Test files without labels: a task all the same, whose test rows nobody here can score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from runner.data import UNLABELLED, FileSource, Task, TaskError, describe, load, split

TRAIN = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "c": ["a", "b", "a", "b"], "y": ["p", "q"] * 2})
TEST = pd.DataFrame({"x": [5.0, 6.0, 7.0], "c": ["b", "a", "a"]})


def task(
    folder: Path,
    test: pd.DataFrame,
    *,
    train: pd.DataFrame = TRAIN,
    row_id: str | None = None,
    kind: str = "csv",
) -> Task:
    for name, frame in (("train", train), ("test", test)):
        if kind == "csv":
            frame.to_csv(folder / f"{name}.csv", index=False)
        else:
            frame.to_parquet(folder / f"{name}.parquet")
    train_file, test_file = folder / f"train.{kind}", folder / f"test.{kind}"
    return load(FileSource(train_file, "y", "p", test_file, row_id=row_id), "t")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_no_target_and_an_empty_one_are_the_same(tmp_path: Path, kind: str) -> None:
    without = task(tmp_path, TEST, kind=kind)
    empty = task(tmp_path, TEST.assign(y=None), kind=kind)
    assert without.fingerprint == empty.fingerprint
    assert without.y.tolist() == [1, 0, 1, 0] + [UNLABELLED] * 3
    assert (without.has_test_labels, without.given_test, without.test_ids) == (False, 3, ())
    labelled = task(tmp_path, TEST.assign(y=["p", "q", "q"]), kind=kind)
    assert labelled.has_test_labels
    assert labelled.fingerprint != without.fingerprint
    np.testing.assert_array_equal(labelled.numeric, without.numeric)


def test_its_split_and_its_description(tmp_path: Path) -> None:
    found = task(tmp_path, TEST)
    parts = split(found, folds=2, holdout=0.5, seed=0)
    assert parts.test_rows.tolist() == [4, 5, 6]
    assert sorted(parts.fold[:4]) == [0, 0, 1, 1]
    described = describe(found, parts)
    assert (described.rows, described.test_rows, described.test_labels) == (7, 3, False)
    assert (described.classes, described.positive_share) == ({"q": 2, "p": 2}, 0.5)


def test_ids_are_kept_as_they_stand_and_are_no_feature(tmp_path: Path) -> None:
    named = task(tmp_path, TEST.assign(Id=["007", "x, y", "8.0"]), row_id="Id")
    assert named.test_ids == ("007", "x, y", "8.0")
    assert [column.name for column in named.columns] == ["x", "c"]
    # The predictions in a store carry the ids: with others it is other work.
    again = task(tmp_path, TEST.assign(Id=["1", "2", "3"]), row_id="Id")
    assert len({named.fingerprint, again.fingerprint, task(tmp_path, TEST).fingerprint}) == 3
    numbers = TEST.assign(Id=[10**12, 2, 3])
    train = TRAIN.assign(Id=[4, 5, 6, 6])
    both = task(tmp_path, numbers, train=train, row_id="Id", kind="parquet")
    assert both.test_ids == ("1000000000000", "2", "3")
    assert [column.name for column in both.columns] == ["x", "c"]


def test_with_labels_ids_only_leave_the_features(tmp_path: Path) -> None:
    labelled = TEST.assign(y=["p", "q", "q"])
    named = task(tmp_path, labelled.assign(Id=[1, 2, 3]), row_id="Id")
    assert named.test_ids == ()
    assert named.fingerprint == task(tmp_path, labelled).fingerprint


@pytest.mark.parametrize(
    ("test", "row_id", "key", "words"),
    [
        (TEST.assign(y=["p", None, None]), None, "test", "missing in 2 of 3 rows"),
        (TEST.drop(columns="c"), None, "test", "no column 'c'"),
        (TEST.assign(Y="p"), None, "test", "no column 'Y'"),
        (TEST.assign(Id=[1, 2, 3]), None, "test", "no column 'Id'"),
        (TEST.assign(Id=[1, 2, 3]), "id", "id", "did you mean 'Id'?"),
        (TEST.assign(Id=[1, 2, 2]), "Id", "id", "'2' in 2 rows"),
        (TEST.assign(Id=["a", None, "b"]), "Id", "id", "missing in some rows"),
        (TEST.assign(y="p"), "y", "id", "is the target"),
    ],
)
def test_mistakes(
    tmp_path: Path, test: pd.DataFrame, row_id: str | None, key: str, words: str
) -> None:
    with pytest.raises(TaskError) as caught:
        task(tmp_path, test, row_id=row_id)
    assert (caught.value.key, words in caught.value.message) == (key, True), caught.value.message
