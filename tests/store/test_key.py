"""Keys: same content same key, other content another, and nothing that JSON can't hold."""

from __future__ import annotations

import hashlib
from enum import IntEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.store import key, stem, stem_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
IDENTITIES = st.dictionaries(st.text(), JSON, max_size=4)


class Level(IntEnum):
    ONE = 1


def test_key_is_the_digests_of_the_documented_text() -> None:
    identity = {"system": "C-BDT", "fold": 0, "configuration": {"trees": 20, "rate": 0.1}}
    text = '{"configuration":{"rate":0.1,"trees":20},"fold":0,"system":"C-BDT"}'
    versions = '{"lightgbm":"4.6.0"}'
    expected = (
        hashlib.sha256(text.encode()).hexdigest()[:40]
        + "-"
        + hashlib.sha256(versions.encode()).hexdigest()[:12]
    )
    assert key(identity, {"lightgbm": "4.6.0"}) == expected


@given(IDENTITIES, st.randoms())
def test_order_of_names_does_not_count(identity: dict[str, Any], random: Any) -> None:
    names = list(identity)
    random.shuffle(names)
    assert key({name: identity[name] for name in names}, {}) == key(identity, {})


@given(IDENTITIES, IDENTITIES)
def test_versions_change_the_suffix_alone(one: dict[str, Any], other: dict[str, Any]) -> None:
    first, second = key({"a": 1}, one), key({"a": 1}, other)
    assert stem_of(first) == stem_of(second) == stem({"a": 1})
    assert (first == second) == (repr_of(one) == repr_of(other))


def repr_of(value: Any) -> str:
    """Text that tells types apart (True, 1 and 1.0), whatever the order of names."""
    if isinstance(value, dict):
        return repr(sorted((name, repr_of(item)) for name, item in value.items()))
    if isinstance(value, list):
        return repr([repr_of(item) for item in value])
    return repr(value)


@pytest.mark.parametrize("pair", [(1, 1.0), (1, "1"), (True, 1), (None, "null"), ([1, 2], [2, 1])])
def test_types_and_order_of_lists_count(pair: tuple[Any, Any]) -> None:
    assert stem({"a": pair[0]}) != stem({"a": pair[1]})


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), np.float64(1), np.int64(1), {1, 2}, b"x", Level.ONE, {1: "a"}],
)
def test_refuses_what_json_cannot_hold(value: Any) -> None:
    with pytest.raises(ValueError, match=r"JSON|not a string|Out of range"):
        stem({"a": {"b": [value]}})
