"""What every source's task is, and that files of every format give the same one."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import datasets

from runner.data import BundledSource, FileSource, TaskSource, load, split

HERE = Path(__file__).parent


def _frame() -> pd.DataFrame:
    """Whole and real numbers, text, booleans; every kind of column with and without gaps."""
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame(
        {
            "whole": rng.integers(-5, 5, n),
            "real": rng.normal(size=n),
            "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
            "all gaps": np.full(n, np.nan),
            "text": rng.choice(["a", "b,c", 'd"e', "f\ng", "None"], n),
            "text gaps": pd.Series(rng.choice(["x", "y"], n)).mask(rng.random(n) < 0.2),
            "flag": rng.random(n) < 0.5,
        }
    )
    frame["y"] = rng.choice(["NA", "?"], n)
    return frame


def _parquet(folder: Path) -> TaskSource:
    _frame().to_parquet(folder / "a.parquet")
    return FileSource(folder / "a.parquet", "y")


def _csv(folder: Path) -> TaskSource:
    _frame().to_csv(folder / "a.csv", index=False)
    return FileSource(folder / "a.csv", "y")


def _csv_gz(folder: Path) -> TaskSource:
    _frame().to_csv(folder / "a.csv.gz", index=False)
    return FileSource(folder / "a.csv.gz", "y")


def _with_test_file(folder: Path) -> TaskSource:
    _frame()[:40].to_parquet(folder / "train.parquet")
    _frame()[40:].to_csv(folder / "test.csv", index=False)
    return FileSource(folder / "train.parquet", "y", test=folder / "test.csv")


def _bundled(folder: Path) -> TaskSource:
    return BundledSource("breast_cancer")


def _one_of_many(folder: Path) -> TaskSource:
    return BundledSource("wine", positive="class_1")


def _real(folder: Path) -> TaskSource:
    return FileSource(HERE / "credit-approval.parquet", "class", positive="+")


SOURCES = [_parquet, _csv, _csv_gz, _with_test_file, _bundled, _one_of_many, _real]


@pytest.mark.parametrize("make", SOURCES)
def test_contract(make: Callable[[Path], TaskSource], tmp_path: Path) -> None:
    source = make(tmp_path)
    task = load(source, "name")
    n = len(task.y)
    kinds = [column.kind for column in task.columns]
    assert task.name == "name"
    assert task.numeric.shape == (n, kinds.count("numeric"))
    assert task.categorical.shape == (n, kinds.count("categorical"))
    assert (task.numeric.dtype, task.categorical.dtype, task.y.dtype) == (
        np.float64,
        np.int32,
        np.uint8,
    )
    assert not np.isinf(task.numeric).any()
    assert set(np.unique(task.y)) == {0, 1}
    assert task.positive != task.negative
    for codes, column in zip(task.categorical.T, task.categorical_columns(), strict=True):
        assert list(column.levels) == sorted(set(column.levels))
        assert set(codes) - {-1} == set(range(len(column.levels)))
    assert all(not column.levels for column in task.columns if column.kind == "numeric")
    assert not task.numeric.flags.writeable
    assert load(source, "other").fingerprint == task.fingerprint
    parts = split(task, folds=3, holdout=0.25, seed=1)
    assert sorted([*parts.train_rows, *parts.test_rows]) == list(range(n))
    if task.given_test:
        assert list(parts.test_rows) == list(range(n - task.given_test, n))


def test_formats_agree(tmp_path: Path) -> None:
    tasks = [load(make(tmp_path), "t") for make in (_parquet, _csv, _csv_gz)]
    assert len({task.fingerprint for task in tasks}) == 1
    frame = _frame()
    task = tasks[0]
    assert [column.name for column in task.columns] == list(frame.columns[:-1])
    np.testing.assert_array_equal(task.numeric, frame[["whole", "real", "gaps", "all gaps"]])
    for j, name in enumerate(["text", "text gaps", "flag"]):
        levels = [*task.categorical_columns()[j].levels, None]
        found = [levels[code] for code in task.categorical[:, j]]
        assert found == [None if pd.isna(value) else str(value) for value in frame[name]]


def test_bundled_numbers_are_scikit_learns() -> None:
    task = load(BundledSource("breast_cancer"), "t")
    data, target = datasets.load_breast_cancer(return_X_y=True)
    np.testing.assert_array_equal(task.numeric, data)
    assert (task.positive, task.negative) == ("malignant", "benign")
    np.testing.assert_array_equal(task.y, target == 0)


def test_one_class_against_the_rest() -> None:
    task = load(BundledSource("wine", positive="class_1"), "t")
    assert (task.positive, task.negative) == ("class_1", "not class_1")
    np.testing.assert_array_equal(task.y, datasets.load_wine().target == 1)


@pytest.mark.parametrize(
    "text",
    [
        "\n\na,y\n1,u\n2,v\n3,u\n",
        "a,y\r\n1,u\r\n\r\n2,v\r\n3,u\r\n",
        "\ufeff\na,y\n1,u\n2,v\n3,u\n",
    ],
)
def test_blank_lines_of_a_csv_file_are_no_rows(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_bytes(text.encode())
    task = load(FileSource(tmp_path / "a.csv", "y"), "a")
    assert task.numeric.tolist() == [[1.0], [2.0], [3.0]]
    assert task.y.tolist() == [0, 1, 0]


def test_marks_of_gaps_are_gaps_in_csv_features_only(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n,c,y\n1,a,NA\nNA,?,?\n ? ,NA,NA\nnan,,NA\n2,None,?\n")
    task = load(FileSource(path, "y"), "t")
    np.testing.assert_array_equal(task.numeric[:, 0], [1, np.nan, np.nan, np.nan, 2])
    assert task.categorical_columns()[0].levels == ("None", "a")
    assert list(task.categorical[:, 0]) == [1, -1, -1, -1, 0]
    assert {task.positive, task.negative} == {"NA", "?"}


def test_in_parquet_they_are_text(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"c": ["?", "NA", None], "y": ["a", "b", "b"]}), path)
    task = load(FileSource(path, "y"), "t")
    assert task.categorical_columns()[0].levels == ("?", "NA")
    assert list(task.categorical[:, 0]) == [0, 1, -1]


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (pd.Categorical([10, 9, 10, 9]), ("10", "9")),
        (pd.Categorical([1.5, 2.0, 1.5, 2.0]), ("1.5", "2")),
        (pd.Categorical(["b", "a", "b", "a"], categories=["c", "b", "a"]), ("a", "b")),
    ],
)
def test_declared_categories_are_categories(
    tmp_path: Path, values: pd.Categorical, levels: tuple[str, ...]
) -> None:
    path = tmp_path / "a.parquet"
    pd.DataFrame({"c": values, "y": ["p", "n", "p", "n"]}).to_parquet(path)
    [column] = load(FileSource(path, "y"), "t").columns
    assert (column.kind, column.levels) == ("categorical", levels)


def test_a_frames_index_is_no_feature(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    _frame().sample(frac=1, random_state=0).to_parquet(path)
    assert "__index_level_0__" in pq.read_schema(path).names
    names = [column.name for column in load(FileSource(path, "y"), "t").columns]
    assert names == list(_frame().columns[:-1])


@pytest.mark.parametrize(
    "kind",
    [pa.decimal128(5, 2), pa.float16(), pa.float32(), pa.int8(), pa.uint64(), pa.decimal256(5, 1)],
)
def test_every_type_of_number(tmp_path: Path, kind: pa.DataType) -> None:
    path = tmp_path / "a.parquet"
    values = pa.array([1, 2, None, 4], pa.int8()).cast(kind)
    pq.write_table(pa.table({"x": values, "y": ["a", "b", "b", "a"]}), path)
    task = load(FileSource(path, "y"), "t")
    np.testing.assert_array_equal(task.numeric[:, 0], [1, 2, np.nan, 4])


def test_levels_of_the_test_file_alone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("c,n,y\nu,,p\nv,,q\n")
    (tmp_path / "b.csv").write_text("y,n,c\nq,3,w\np,,7\n")
    task = load(FileSource(tmp_path / "a.csv", "y", test=tmp_path / "b.csv"), "t")
    assert task.given_test == 2
    assert task.categorical_columns()[0].levels == ("7", "u", "v", "w")
    assert list(task.categorical[:, 0]) == [1, 2, 3, 0]
    assert list(task.y) == [0, 1, 1, 0]


def test_the_same_file_under_other_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = "x,c,y\n1,a,p\n2,b,q\n"
    fingerprints = set()
    for number, data in enumerate(
        (text.encode(), text.replace("\n", "\r\n").encode(), text.encode("utf-8-sig"))
    ):
        path = tmp_path / f"{number}.CSV.GZ"
        path.write_bytes(gzip.compress(data))
        fingerprints.add(load(FileSource(path, "y"), "t").fingerprint)
    assert len(fingerprints) == 1


def test_numbers_that_the_study_calls_categories_are_categories(tmp_path: Path) -> None:
    frame = pd.DataFrame({"code": [3, 1, 3, 20] * 5, "size": range(20), "y": list("abba") * 5})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    declared = frame.assign(code=frame["code"].astype("category"))
    declared.to_parquet(tmp_path / "declared.parquet")
    tasks = [
        load(FileSource(tmp_path / "a.parquet", "y", categorical=("code",)), "a"),
        load(FileSource(tmp_path / "a.csv", "y", categorical=("code",)), "a"),
        load(FileSource(tmp_path / "declared.parquet", "y"), "a"),
    ]
    (column,) = tasks[0].categorical_columns()
    assert column.levels == ("1", "20", "3")
    assert [column.levels[code] for code in tasks[0].categorical[:4, 0]] == ["3", "1", "3", "20"]
    assert len({task.fingerprint for task in tasks}) == 1
    assert load(FileSource(tmp_path / "a.csv", "y"), "a").categorical.shape == (20, 0)
