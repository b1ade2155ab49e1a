"""What reports of a sandbox become rows, and that no report of whatever shape stops a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from runner.engine.records import (
    Circumstances,
    JobRecord,
    decode_predictions,
    decode_rows,
    encode,
)
from runner.sandbox import Finding, Result, Usage

HERE = Circumstances(datetime(2026, 1, 2, tzinfo=UTC), 1.0, 0.0, 0.0, "node", "{}", {})

GOOD = {
    "row_ids": np.array([3, 5, 8], dtype=np.int64),
    "classes": np.array(["no", "yes"]),
    "confidences": np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]),
    "labels": np.array(["yes", "no", "no"]),
}


def sent(
    fields: Mapping[str, Any], predictions: Mapping[str, np.ndarray] | None = None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The row of a record after its way to the driver, and its predictions."""
    finding = Finding("ok", 0.1, fields=fields, predictions=predictions)
    message = encode([JobRecord(7, Result((finding,), Usage(0.1), "", {}), HERE)])
    (row,) = decode_rows(message)
    table = decode_predictions(message)
    return row, [] if table is None else table.to_pylist()


def test_a_good_record_arrives_whole() -> None:
    row, [predicted] = sent({"score": 0.5, "fit_seconds": 2, "timed_fits": 3}, GOOD)
    assert (row["outcome"], row["score"], row["fit_seconds"]) == ("ok", 0.5, 2.0)
    assert predicted["row_ids"] == [3, 5, 8]
    assert predicted["confidences"] == [0.25, 0.75, 0.5, 0.5, 1.0, 0.0]
    assert predicted["labels"] == ["yes", "no", "no"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "no score"),
        ({"score": math.nan}, "finite"),
        ({"score": math.inf}, "finite"),
        ({"score": "high"}, "score is 'high'"),
        ({"score": 0.5, "fit_seconds": -math.inf}, "fit_seconds"),
        ({"score": 0.5, "timed_fits": 2**70}, "timed_fits"),
        ({"score": 0.5, "timed_fits": 1.5}, "timed_fits"),
        ({"score": 0.5, "colour": 1}, "colour"),
    ],
)
def test_fields_that_make_no_row_are_an_error(fields: dict[str, Any], words: str) -> None:
    row, predictions = sent(fields, GOOD)
    assert (row["outcome"], row["reason"], row["score"]) == ("error", "record", None)
    assert words in row["error"]
    assert predictions == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"row_ids": np.ones((3, 1), dtype=np.int32)}, "row_ids"),
        ({"row_ids": np.ones(3)}, "whole numbers"),
        ({"row_ids": np.array([1, 2, 2**40])}, "32 bits"),
        ({"labels": np.array([1, 0, 0])}, "text"),
        ({"labels": np.array(["yes", "no"])}, "2 labels for 3"),
        ({"labels": np.array(["yes", "\ud800", "no"])}, "Unicode"),
        ({"classes": np.array("yes")}, "classes"),
        ({"confidences": np.ones((2, 3))}, "3 rows by 2 classes"),
        ({"confidences": np.ones(5)}, "3 rows by 2 classes"),
        ({"confidences": np.ones((3, 2), dtype=np.int64)}, "floats"),
        ({"extra": np.ones(3)}, "extra"),
        ({"scores": np.ones(2)}, "scores of shape (2,)"),
        ({"scores": np.array(["a", "b", "c"])}, "floats"),
    ],
)
def test_predictions_that_make_no_row_are_an_error(
    changes: dict[str, np.ndarray], words: str
) -> None:
    row, predictions = sent({"score": 0.5}, {**GOOD, **changes})
    assert (row["outcome"], row["reason"]) == ("error", "record")
    assert words in row["error"]
    assert predictions == []


def test_predictions_can_stand_for_a_score_that_only_others_can_compute() -> None:
    row, [predicted] = sent({"score": None}, {**GOOD, "scores": np.array([0.1, 0.2, -7.0])})
    assert (row["outcome"], row["score"]) == ("ok", None)
    assert predicted["scores"] == [0.1, 0.2, -7.0]
    row, predictions = sent({"score": None})
    assert (row["outcome"], "neither score nor predictions" in row["error"]) == ("error", True)
    assert predictions == []


def test_missing_predictions_are_an_error() -> None:
    for name in GOOD:
        row, _ = sent({"score": 0.5}, {key: a for key, a in GOOD.items() if key != name})
        assert row["reason"] == "record"
    assert sent({"score": 0.5}, {})[0]["reason"] == "record"


KINDS = st.sampled_from(["<i4", "<i8", "<u8", "<f4", "<f8", "<U3", "|b1", "|S2"])
ANY_ARRAY = KINDS.flatmap(lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0)))


@given(
    st.dictionaries(
        st.sampled_from(["score", "fit_seconds", "timed_fits", "odd"]),
        st.none() | st.integers() | st.floats() | st.text(max_size=3),
    ),
    st.none() | st.dictionaries(st.sampled_from([*GOOD, "odd"]), ANY_ARRAY),
)
def test_whatever_is_reported_is_a_row(
    fields: dict[str, Any], predictions: dict[str, np.ndarray] | None
) -> None:
    row, predicted = sent(fields, predictions)
    assert row["outcome"] in ("ok", "error")
    assert (row["outcome"] == "ok") == (row["score"] is not None)
    assert not predicted or row["outcome"] == "ok"
