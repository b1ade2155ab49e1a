"""Predictions beside labels: one to one by id, whatever the files' format, order and types."""

from __future__ import annotations

import contextlib
import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.ci.columns import Columns, read_columns
from runner.ci.estimates import estimates
from runner.ci.predictions import HeldOut, held_out, join, read_predictions
from runner.errors import CannotRunError, InputError, RunnerError

PLACE = Path("x.csv")


def columns(ids: list[str], values: list[str | None] | None = None) -> Columns:
    return Columns(PLACE, ids, values or [])


def rows(ids: list[str], labels: list[str | None], pool: list[str] | None = None) -> HeldOut:
    found = held_out(columns(ids, labels), None if pool is None else columns(pool))
    assert found is not None
    return found


def test_joined_as_pandas_does(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": np.arange(500),
            "label": rng.integers(0, 4, 500),
            "new": rng.integers(0, 4, 500),
            "old": rng.integers(0, 4, 500),
        }
    )
    shuffled = frame.sample(frac=1, random_state=1)
    shuffled[["id", "new"]].rename(columns={"new": "prediction"}).to_parquet(tmp_path / "new")
    shuffled[["old", "id"]].astype({"old": float}).to_csv(tmp_path / "old", index=False)
    held = held_out(
        read_columns(frame[["id", "label"]].to_csv(index=False).encode(), PLACE, "label"), None
    )
    assert held is not None
    joined = join(held, read_predictions(tmp_path / "new"), read_predictions(tmp_path / "old"))
    found = estimates(joined.tested)
    assert float(found["n"]) == (frame["new"] == frame["label"]).mean()
    assert float(found["o"]) == (frame["old"] == frame["label"]).mean()
    assert float(found["d"]) == (frame["new"] != frame["old"]).mean()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,1.0\n2,2\n", ["1", "2"]),
        ("1,True\n2,FALSE\n", ["true", "false"]),
        ("1,1.0\n2,a\n", ["1.0", "a"]),
        ('1," a "\n2,\n', ["a", None]),
        ('1,"a\nb"\n2,"c,d"\n', ["a\nb", "c,d"]),
    ],
)
def test_classes_are_told_apart_by_what_they_mean(text: str, values: list[str | None]) -> None:
    content = b"\xef\xbb\xbf" + f"id,p\n{text}".encode()
    assert read_columns(content, PLACE, "prediction").values == values
    assert read_columns(gzip.compress(content), PLACE, "prediction").values == values


def test_types_of_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [1.0, 2.0, 3.0]})
    for values, found in (
        ([True, False, None], ["true", "false", None]),
        ([1.0, 2.0, np.nan], ["1", "2", None]),
        (pd.Categorical(["b", "a", "b"]), ["b", "a", "b"]),
    ):
        frame.assign(label=values).to_parquet(tmp_path / "x")
        read = read_columns((tmp_path / "x").read_bytes(), PLACE, "label")
        assert (read.ids, read.values) == (["1", "2", "3"], found)


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        (["a", "b"], "1 are missing (the first: 'c')"),
        (["a", "b", "c", "x", "y"], "2 are not in the test set (the first: 'x', 'y')"),
        (["a", "b", "b", "c"], "1 ids stand more than once"),
        (["x", "b", "c"], "1 are missing (the first: 'a') and 1 are not in the test set"),
    ],
)
def test_what_does_not_join(ids: list[str], told: str) -> None:
    held = rows(["a", "b", "c"], ["1", "2", "1"])
    with pytest.raises(CannotRunError) as refused:
        join(held, columns(ids, ["1"] * len(ids)), None)
    assert told in str(refused.value)


def test_a_pool_is_predicted_too_and_apart() -> None:
    held = rows(["a", "b"], ["1", "2"], pool=["p", "q"])
    joined = join(held, columns(["q", "a", "p", "b"], ["2", "1", "2", "1"]), None)
    assert (len(joined.tested), joined.pool and len(joined.pool)) == (2, 2)
    with pytest.raises(InputError, match="1 rows of the pool are in the test set"):
        rows(["a", "b"], ["1", "2"], pool=["b"])
    with pytest.raises(CannotRunError, match="2 are missing"):
        join(held, columns(["a", "b"], ["1", "1"]), None)


def test_predictions_in_other_words_are_no_wrong_predictions() -> None:
    held = rows(["a", "b"], ["x", "y"])
    with pytest.raises(CannotRunError, match="here they are '0', '1'"):
        join(held, columns(["b", "a"], ["1", "0"]), columns(["a", "b"], ["x", "y"]))
    # The labels' classes would be told by refusals that count no step.
    for old in (None, columns(["a", "b"], ["0", "0"])):
        assert (join(held, columns(["b", "a"], ["1", "0"]), old).tested.new != 0).any()


def test_a_test_set_is_the_same_however_its_file_is_sorted() -> None:
    first = rows(["a", "b", "c"], ["1", "2", None])
    second = rows(["c", "a", "b"], [None, "1", "2"])
    assert first == second
    labelled = rows(["a", "b", "c"], ["1", "2", "1"])
    # Neither the ledger's name nor anything in it lets one try labels.
    assert labelled.identity == first.identity
    assert rows(["a", "b", "d"], ["1", "2", "1"]).identity != labelled.identity


def test_a_sorted_file_is_not_judged_in_its_order() -> None:
    held = rows([f"{i:04}" for i in range(1000)], ["0"] * 500 + ["1"] * 500)
    assert held.labels is not None
    assert 200 < sum(label == "1" for label in held.labels[:500]) < 300


@settings(deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_file_is_read_or_refused_in_one_line(content: bytes) -> None:
    for start in (b"", b"id,label\n", b"PAR1", b"\x1f\x8b"):
        with contextlib.suppress(RunnerError):
            read_columns(start + content, PLACE, "label")


def test_a_number_that_is_none_is_no_class(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("id,label\n1,1.0\n2,nan\n3,2\n")
    assert read_columns(path.read_bytes(), path, "label").values == ["1", None, "2"]
    path.write_text("id,label\n1,naan\n2,nan\n")
    assert read_columns(path.read_bytes(), path, "label").values == ["naan", "nan"]


def test_numbers_keep_their_digits(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("id,prediction\n1,-0.05\n2,1.0\n3,1.\n4,10.50\n")
    assert read_predictions(path).values == ["-0.05", "1", "1", "10.50"]
