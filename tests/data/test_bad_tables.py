"""Every table that can't be a task is refused in one line, with the study's key at fault."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from runner.data import BundledSource, FileSource, TaskError, load

GOOD = "x,c,y\n1,a,p\n2,b,q\n3,a,q\n"


def refusal(
    path: Path, *, target: str = "y", positive: str | None = None, test: Path | None = None
) -> tuple[str, str]:
    with pytest.raises(TaskError) as caught:
        load(FileSource(path, target, positive, test), "t")
    assert "\n" not in caught.value.message
    return caught.value.key, caught.value.message


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("", "file", "can't be read as csv"),
        ("x,y\n", "file", "has no rows"),
        ("x,y\n1,a\n2\n", "file", "Row #3: Expected 2 columns, got 1"),
        ("x,x,y\n1,2,a\n", "file", "column 'x' stands 2 times"),
        (",x,y\n0,1,a\n", "file", "without a name"),
        ("y\na\nb\n", "file", "no column besides the target"),
        ("x,z\n1,a\n", "target", "no column 'y': the choice is 'x', 'z'"),
        ("x,Y\n1,a\n", "target", "did you mean 'Y'?"),
        ("x;y\n1;a\n", "target", "its only column is 'x;y'; commas"),
        ("x,y\n1,a\n2,a\n", "target", "'a' in every row"),
        ("x,y\n1,a\n2,\n3,\n", "target", "missing in 2 of 3 rows"),
        ("x,y\n1,a\n2,b\n3,c\n", "target", "3 values ('a', 'b', 'c')"),
        ("x,y\n1,.1\n2,.2\n3,.3\n", "target", "`positive:`"),
        ("x,y\n1,a\ninf,b\n-Infinity,b\n", "file", "'x' is infinite in 2 of 3"),
    ],
)
def test_csv(tmp_path: Path, text: str, key: str, words: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    found, message = refusal(path)
    assert (found, words in message) == (key, True), message


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", b"x,y\n1,\xff\n"),
        ("a.csv.gz", b"x,y\n1,a\n"),
        ("a.csv.gz", gzip.compress(b"x,y\n1,a\n" * 5000)[:-12]),
        ("a.csv.gz", gzip.compress(bytes(range(256)) * 9)[:20] + b"garbage" * 9),
        ("a.parquet", b""),
        ("a.parquet", b"PAR1" + b"0" * 50 + b"PAR1"),
    ],
)
def test_damaged_files(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    key, message = refusal(path)
    assert key == "file"
    assert f"{path} can't be read as {name[2:]}" in message


def test_a_parquet_file_cut_short(tmp_path: Path) -> None:
    pd.DataFrame({"x": range(9), "y": list("abababaab")}).to_parquet(tmp_path / "a.parquet")
    data = (tmp_path / "a.parquet").read_bytes()
    for cut in (len(data) // 3, len(data) - 5):
        (tmp_path / "a.parquet").write_bytes(data[:cut])
        assert "can't be read as parquet" in refusal(tmp_path / "a.parquet")[1]


@pytest.mark.parametrize(
    ("columns", "key", "words"),
    [
        ([("x", [1, 2]), ("x", [3, 4]), ("y", ["a", "b"])], "file", "'x' stands 2 times"),
        ([("x", [[1], [2]]), ("y", ["a", "b"])], "file", "'x' is of type list"),
        ([("x", [date(2020, 1, 1)] * 2), ("y", ["a", "b"])], "file", "as a number or as text"),
        ([("x", [b"1", b"2"]), ("y", ["a", "b"])], "file", "'x' is of type binary"),
        ([("x", [1, 2]), ("y", [date(2020, 1, 1), None])], "target", "'y' is of type date"),
        ([("x", [1, 2]), ("y", [1.0, float("nan")])], "target", "missing in 1 of 2"),
        ([("x", [1, 2]), ("y", [None, None])], "target", "missing in 2 of 2"),
        ([("x", [1.0, float("inf")]), ("y", ["a", "b"])], "file", "infinite in 1 of 2"),
        ([("x", pa.array([], pa.int8())), ("y", pa.array([], pa.string()))], "file", "no rows"),
    ],
)
def test_parquet(tmp_path: Path, columns: list[tuple[str, object]], key: str, words: str) -> None:
    path = tmp_path / "a.parquet"
    names = [name for name, _ in columns]
    pq.write_table(pa.table([pa.array(values) for _, values in columns], names=names), path)
    found, message = refusal(path)
    assert (found, words in message) == (key, True), message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("y,c,z\np,a,1\nq,a,1\n", "no column 'x'"),
        ("x,c,y,z\n1,a,p,1\n1,a,q,1\n", "no column 'z'"),
        ("x,c,y\n1,a,p\n2,b,p\n", "every row's 'y' is 'p'"),
        ("x,c,y\n1,a,q\n2,b,q\n", "every row's 'y' is not 'p'"),
        ("x,c,y\n1,a,p\n2,b,P\n", "'P', which the training rows don't have"),
        ("x,c,y\none,a,p\n2,b,q\n", "'x' is categorical"),
        ("x,c,y\ninf,a,p\n2,b,q\n", "infinite"),
        ("x,c,y\n1,a,p\n2,b,\n", "missing in 1 of 2"),
        ("", "can't be read as csv"),
    ],
)
def test_test_file(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.csv").write_text(GOOD)
    (tmp_path / "test.csv").write_text(text)
    key, message = refusal(tmp_path / "a.csv", test=tmp_path / "test.csv")
    assert (key, words in message) == ("test", True), message


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("god.csv", "did you mean 'good.csv'?"),
        ("good.xlsx", "did you mean 'good.csv'?"),
        ("folder/good.csv", "there is no folder"),
        (".", "is a folder"),
        ("n" * 300 + ".csv", "can't be read as csv"),
        ("nul\0.csv", "doesn't exist"),
        ("notes.txt", "read from .parquet, .csv, .csv.gz"),
    ],
)
def test_paths(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "good.csv").write_text(GOOD)
    (tmp_path / "notes.txt").write_text("")
    key, message = refusal(tmp_path / name)
    assert (key, words in message) == ("file", True), message
    assert refusal(tmp_path / "good.csv", test=tmp_path / name)[0] == "test"


@pytest.mark.parametrize(
    ("make", "key", "words"),
    [
        (lambda: BundledSource("breast_cancr"), "sklearn", "did you mean 'breast_cancer'?"),
        (lambda: BundledSource("linnerud"), "sklearn", "the choice is 'breast_cancer'"),
        (lambda: BundledSource("iris"), "sklearn", "`positive:`"),
        (lambda: BundledSource("diabetes"), "sklearn", "`positive:`"),
        (lambda: BundledSource("iris", "setos"), "positive", "did you mean 'setosa'?"),
    ],
)
def test_bundled(make: Callable[[], BundledSource], key: str, words: str) -> None:
    with pytest.raises(TaskError) as caught:
        load(make(), "t")
    assert (caught.value.key, words in caught.value.message) == (key, True)
