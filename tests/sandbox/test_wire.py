"""Messages: what is sent arrives however the stream is cut, and nothing else gets through."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from runner.sandbox.ledger import MalformedError
from runner.sandbox.wire import (
    Message,
    Reader,
    plain_arrays,
    read_index,
    read_record,
    record_message,
)

fields = st.dictionaries(
    st.text(max_size=5),
    st.none() | st.text(max_size=5) | st.integers() | st.floats(allow_nan=False),
    max_size=4,
)
dtypes = (
    arrays.floating_dtypes(sizes=(32, 64))
    | arrays.integer_dtypes()
    | arrays.unicode_string_dtypes()
)
predictions = st.none() | st.dictionaries(
    st.text(max_size=5),
    arrays.arrays(dtypes, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)),
    max_size=3,
)


@given(fields, predictions, st.integers(1, 50))
def test_a_record_arrives_as_it_was_sent(
    sent: dict[str, Any], kept: dict[str, np.ndarray] | None, chunk: int
) -> None:
    data = record_message(3, sent, kept).encode() * 2
    reader = Reader()
    got = [
        message
        for start in range(0, len(data), chunk)
        for message in reader.feed(data[start : start + chunk])
    ]
    assert len(got) == 2
    for message in got:
        assert read_index(message) == 3
        arrived, found = read_record(message)
        assert arrived == sent
        assert (found is None) == (kept is None)
        for name, array in (kept or {}).items():
            assert found is not None
            np.testing.assert_array_equal(found[name], array)
            assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)


@given(st.binary(max_size=60))
def test_noise_is_malformed_or_incomplete(data: bytes) -> None:
    try:
        for message in Reader().feed(data):
            assert isinstance(message.header, dict)
    except MalformedError:
        pass


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 9)
    | st.floats()
    | st.sampled_from(["<f4", "O", "x"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@given(json_values, json_values, st.binary(max_size=16))
def test_a_forged_record_is_malformed_or_plain(listed: Any, told: Any, payload: bytes) -> None:
    header = {"kind": "record", "index": 0, "fields": told, "arrays": listed}
    try:
        arrived, found = read_record(Message(json.loads(json.dumps(header)), payload))
    except MalformedError:
        return
    assert all(isinstance(value, float | int | str | None) for value in arrived.values())
    assert found is not None
    assert all(array.dtype != object for array in found.values())


@pytest.mark.parametrize(
    "listed",
    [
        [["a", "O", [1]]],
        [["a", "|V8", [1]]],
        [["a", "<U0", [3]]],
        [["a", "<f3", [1]]],
        [["a", "<f8", [-1]]],
        [["a", "<f8", [1 << 60]]],
        [["a", "<f8", [0, 1 << 28, 1 << 28, 1 << 28]]],
        [["a", "<f8", [1, 1, 1, 1, 1, 1, 1, 1, 1]]],
        [["a", "<f8", [2]]],
        [["a", "<f4", [1]]],
        [],
        "a",
        [["a", "<f8"]],
    ],
)
def test_arrays_that_do_not_fit_their_bytes(listed: Any) -> None:
    header = {"kind": "record", "index": 0, "fields": {}, "arrays": listed}
    with pytest.raises(MalformedError):
        read_record(Message(header, bytes(8)))


def test_all_payloads_together_are_capped() -> None:
    reader = Reader(payload_cap=100)
    message = Message({"kind": "record"}, bytes(60)).encode()
    assert len(list(reader.feed(message))) == 1
    with pytest.raises(MalformedError):
        list(reader.feed(message))


def test_texts_in_object_arrays_become_fixed_width() -> None:
    made = plain_arrays({"labels": np.array(["no", "maybe"], dtype=object)})["labels"]
    assert made.dtype == np.dtype("<U5")
    with pytest.raises(TypeError, match="'labels'"):
        plain_arrays({"labels": np.array([{}, 1], dtype=object)})
