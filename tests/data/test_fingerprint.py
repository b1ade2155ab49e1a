"""The fingerprint changes with whatever a score can depend on, and with nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from runner.data import FileSource, load


def _frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "a": [1.0, 2.0, np.nan, 4.0, 5.0],
            "b": ["u", "v", None, "v", "u"],
            "y": ["p", "q", "r", "p", "q"],
        }
    )


def _fingerprint(
    folder: Path, frame: pd.DataFrame, positive: str = "p", test: pd.DataFrame | None = None
) -> str:
    frame.to_parquet(folder / "a.parquet")
    path = None
    if test is not None:
        path = folder / "test.parquet"
        test.to_parquet(path)
    return load(FileSource(folder / "a.parquet", "y", positive, path), "t").fingerprint


def _cell(column: str, row: int, value: object) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        frame.loc[row, column] = value
        return frame

    return change


@pytest.mark.parametrize(
    "change",
    [
        _cell("a", 0, 1.0000000000000002),
        _cell("a", 2, 3.0),
        _cell("a", 0, np.nan),
        _cell("b", 0, "v"),
        _cell("b", 0, "w"),
        _cell("b", 2, "u"),
        _cell("y", 1, "r"),
        _cell("y", 1, "s"),
        lambda frame: frame.rename(columns={"a": "A"}),
        lambda frame: frame[["b", "a", "y"]],
        lambda frame: frame.iloc[[1, 0, 2, 3, 4]],
        lambda frame: frame.iloc[:-1],
        lambda frame: frame.assign(c=1.0),
        lambda frame: frame.assign(a=frame["a"].astype("category")),
    ],
)
def test_content_changes_it(tmp_path: Path, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    assert _fingerprint(tmp_path, change(_frame())) != _fingerprint(tmp_path, _frame())


def test_the_positive_class_and_the_test_rows_change_it(tmp_path: Path) -> None:
    frame = pd.concat([_frame(), _frame()], ignore_index=True)
    whole = _fingerprint(tmp_path, frame)
    assert _fingerprint(tmp_path, frame, "q") != whole
    parted = _fingerprint(tmp_path, frame[:5], test=frame[5:])
    assert parted != whole
    assert _fingerprint(tmp_path, frame[:6], test=frame[6:]) != parted


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame,
        lambda frame: frame.assign(b=frame["b"].astype("category")),
        lambda frame: frame.assign(y=frame["y"].astype("category")),
        lambda frame: frame.assign(a=frame["a"].astype("Int64")),
        lambda frame: frame.assign(a=frame["a"].astype("float32")),
        lambda frame: frame.set_index(pd.Index(list("hijkl"))),
    ],
)
def test_storage_does_not(tmp_path: Path, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    assert _fingerprint(tmp_path, change(_frame())) == _fingerprint(tmp_path, _frame())


def test_nor_does_the_sign_of_zero(tmp_path: Path) -> None:
    frames = [_frame().assign(a=[zero, 1, 2, 3, 4]) for zero in (0.0, -0.0)]
    first, second = (_fingerprint(tmp_path, frame) for frame in frames)
    assert first == second


def test_it_is_the_same_in_every_release(tmp_path: Path) -> None:
    # Stored keys rest on it: a change here makes every store compute everything again.
    golden = "b53c2fdceb709f9a370d2e4bf102a2b4e5e6c791b4e9dd873998a2f5a65c4483"
    assert _fingerprint(tmp_path, _frame()) == golden
