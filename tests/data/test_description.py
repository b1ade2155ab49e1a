"""What is told of a task equals what pandas counts in its file."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from runner.data import FileSource, describe, load, split

DATA = Path(__file__).parents[1] / "data"


def test_a_task_in_numbers() -> None:
    file = DATA / "credit-approval.parquet"
    task = load(FileSource(file, "class"), "ca")
    told = describe(task, split(task, folds=3, holdout=0.2, seed=0))
    frame = pd.read_parquet(file)
    features = frame.drop(columns="class")
    assert (told.name, told.fingerprint, told.rows) == ("ca", task.fingerprint, len(frame))
    assert told.classes == frame["class"].value_counts().to_dict()
    assert told.positive == frame["class"].value_counts().idxmin()
    assert told.positive_share == (frame["class"] == told.positive).mean()
    assert told.missing == features.isna().sum().sum() == 67
    assert sum(told.folds) + told.test_rows == len(frame)
    assert len(told.folds) == 3
    assert [column.name for column in told.columns] == list(features)
    for column in told.columns:
        values = features[column.name]
        assert column.missing == values.isna().sum()
        assert column.levels == (values.nunique() if column.kind == "categorical" else None)
    assert told.categorical == sum(not pd.api.types.is_numeric_dtype(t) for t in features.dtypes)
