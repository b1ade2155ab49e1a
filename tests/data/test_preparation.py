"""Preparation against scikit-learn's transformers, and that it learns from training rows alone."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

from runner.data import (
    PREPARATION_VERSION,
    FileSource,
    Prepared,
    Split,
    Task,
    arrays,
    load,
    prepare,
    prepared_columns,
    split,
    uses_target_encoder,
)
from runner.data.preparation import ONE_HOT_LEVELS

HERE = Path(__file__).parent
AMAZON = HERE.parents[2] / "shared/data/datasets/kaggle-amazon-employee-access-train.parquet"


def _parts(task: Task) -> tuple[Split, dict[str, np.ndarray]]:
    parts = split(task, folds=5, holdout=0.2, seed=0)
    return parts, arrays(task, parts)


def _with_scikit_learn(
    frame: pd.DataFrame, task: Task, train: np.ndarray, test: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same preparation by a ColumnTransformer on the file's own columns."""
    numeric = [column.name for column in task.columns if column.kind == "numeric"]
    steps = [("numeric", SimpleImputer(keep_empty_features=True), numeric)]
    for column in task.categorical_columns():
        # Objects, so that a gap is None, which scikit-learn takes for one more category.
        values = frame[column.name].astype(object)
        frame[column.name] = values.where(values.notna(), None)
        levels = frame[column.name].iloc[train].nunique(dropna=False)
        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        if levels > ONE_HOT_LEVELS:
            encoder = TargetEncoder(cv=StratifiedKFold(5, shuffle=True, random_state=seed))
        steps.append((column.name, encoder, [column.name]))
    transformer = ColumnTransformer(steps)
    X_train = transformer.fit_transform(frame.iloc[train], task.y[train])
    return X_train, transformer.transform(frame.iloc[test])


def _assert_agrees(path: Path, target: str, folds: tuple[int | None, ...]) -> None:
    frame = pd.read_parquet(path)
    task = load(FileSource(path, target), "t")
    parts, plain = _parts(task)
    for fold in folds:
        if fold is None:
            train, test = parts.train_rows, parts.test_rows
        else:
            train = np.flatnonzero((parts.fold >= 0) & (parts.fold != fold))
            test = np.flatnonzero(parts.fold == fold)
        found = prepare(plain, fold, 7)
        X_train, X_test = _with_scikit_learn(frame.copy(), task, train, test, 7)
        np.testing.assert_allclose(found.X_train, X_train, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.X_test, X_test, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(found.y_train, task.y[train])
        np.testing.assert_array_equal(found.y_test, task.y[test])
        np.testing.assert_array_equal(found.test_rows, test)
        assert found.X_train.flags.c_contiguous
        assert found.X_test.flags.c_contiguous
        assert found.X_train.shape[1] <= prepared_columns(task)


@pytest.mark.parametrize("name", ["credit-approval", "credit-g"])
def test_real_sets(name: str) -> None:
    _assert_agrees(HERE / f"{name}.parquet", "class", (0, 1, 2, 3, 4, None))


def _many_levels(folder: Path, n: int = 900) -> Path:
    """Columns of about 64, 65 and hundreds of levels, with gaps and with rare levels."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "hundreds": rng.integers(0, 400, n).astype(str),
            "gaps": pd.Series(rng.integers(0, 200, n).astype(str)).mask(rng.random(n) < 0.1),
            "64": np.array([f"{i:02}" for i in range(64)])[np.arange(n) % 64],
            "63 and a gap": pd.Series((np.arange(n) % 64).astype(str)).mask(np.arange(n) % 64 == 0),
            "65": (np.arange(n) % 65).astype(str),
            "few": pd.Series(rng.choice(["a", "b"], n)).mask(rng.random(n) < 0.1),
            "number": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "nothing": np.full(n, np.nan),
        }
    )
    frame["class"] = np.where(rng.random(n) < 0.3, "p", "q")
    frame.to_parquet(folder / "many.parquet")
    return folder / "many.parquet"


def test_many_levels(tmp_path: Path) -> None:
    path = _many_levels(tmp_path)
    _assert_agrees(path, "class", (0, 3, None))
    task = load(FileSource(path, "class"), "t")
    assert uses_target_encoder(task)
    _, plain = _parts(task)
    assert prepare(plain, None, 0).X_train.shape[1] == 2 + 2 + 64 + 64 + 1 + 3


@pytest.mark.skipif(not AMAZON.exists(), reason="the shared data sets aren't here")
def test_columns_of_thousands_of_levels(tmp_path: Path) -> None:
    frame = pd.read_parquet(AMAZON)
    for name in frame.columns.drop("ACTION"):
        frame[name] = frame[name].astype("category")
    frame.to_parquet(tmp_path / "a.parquet")
    _assert_agrees(tmp_path / "a.parquet", "ACTION", (0, None))


def _changed(plain: dict[str, np.ndarray], rows: np.ndarray) -> dict[str, np.ndarray]:
    """Other numbers, levels and labels in some rows."""
    changed = {name: values.copy() for name, values in plain.items()}
    changed["numeric"][rows] = 1e9
    changed["categorical"][rows] = 0
    changed["y"][rows] = 1 - changed["y"][rows]
    return changed


@pytest.mark.parametrize("fold", [0, 4, None])
def test_nothing_is_learnt_from_held_out_rows(tmp_path: Path, fold: int | None) -> None:
    task = load(FileSource(_many_levels(tmp_path), "class"), "t")
    _, plain = _parts(task)
    held_out = np.flatnonzero(plain["fold"] == (-1 if fold is None else fold))
    if fold is not None:
        held_out = np.concatenate([held_out, np.flatnonzero(plain["fold"] == -1)])
    before = prepare(plain, fold, 0)
    after = prepare(_changed(plain, held_out), fold, 0)
    np.testing.assert_array_equal(before.X_train, after.X_train)
    np.testing.assert_array_equal(before.y_train, after.y_train)


def test_the_test_rows_are_in_no_fold(tmp_path: Path) -> None:
    task = load(FileSource(_many_levels(tmp_path), "class"), "t")
    parts, plain = _parts(task)
    seen = np.concatenate([prepare(plain, fold, 0).test_rows for fold in range(5)])
    np.testing.assert_array_equal(np.sort(seen), parts.train_rows)


def test_unseen_levels_and_columns_that_are_all_gaps() -> None:
    plain = {
        "numeric": np.array([[np.nan, 1], [np.nan, np.nan], [5, np.nan], [np.nan, 7]]),
        "categorical": np.array([[0], [-1], [1], [-1]], dtype=np.int32),
        "levels": np.array([2], dtype=np.int32),
        "y": np.array([0, 1, 0, 1], dtype=np.uint8),
        "fold": np.array([0, 1, -1, -1], dtype=np.int8),
    }
    found = prepare(plain, None, 0)
    np.testing.assert_array_equal(found.X_train, [[0, 1, 1, 0], [0, 1, 0, 1]])
    np.testing.assert_array_equal(found.X_test, [[5, 1, 0, 0], [0, 7, 0, 1]])


def test_it_takes_read_only_mapped_arrays_and_needs_numpy_alone(tmp_path: Path) -> None:
    _, plain = _parts(load(FileSource(HERE / "credit-approval.parquet", "class"), "t"))
    for name, values in plain.items():
        np.save(tmp_path / f"{name}.npy", values)
    program = f"""
import pathlib, sys
import numpy as np
from runner.data import prepare
folder = pathlib.Path({str(tmp_path)!r})
plain = {{p.stem: np.load(p, mmap_mode="r") for p in folder.glob("*.npy")}}
print(prepare(plain, 2, 0).X_train.sum().hex())
print(sorted({{"pandas", "pyarrow", "sklearn", "scipy"}} & set(sys.modules)))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    total, imported = ran.stdout.splitlines()
    assert total == prepare(plain, 2, 0).X_train.sum().hex()
    assert imported == "[]"


def _digest(found: Prepared) -> str:
    # Ten digits: what a CPU's own way of adding may change stays below them.
    texts = [
        np.array2string(X, threshold=10**9, precision=10) for X in (found.X_train, found.X_test)
    ]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def test_bits_do_not_change_without_a_new_preparation_version(tmp_path: Path) -> None:
    _, plain = _parts(load(FileSource(_many_levels(tmp_path, 300), "class"), "t"))
    assert PREPARATION_VERSION == 1
    assert _digest(prepare(plain, 1, 0))[:16] == "d9998347a3e78c6f"
