"""The key of an evaluation: what determines its score, and the versions its numbers rest on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

STEM_DIGITS = 40
_SUFFIX_DIGITS = 12


def key(identity: Mapping[str, Any], versions: Mapping[str, Any]) -> str:
    """The key of an evaluation, ``STEM-SUFFIX`` in hexadecimal digits.

    Rows with one stem are the same evaluation computed with different versions.

    Args:
        identity: What determines the score, versions apart: JSON values, nested as needed. Numbers
            count by their type: 1 and 1.0 are different, so a parameter's type must be settled
            before it gets here.
        versions: Name to version of the system and of the libraries that its numbers rest on.

    Raises:
        ValueError: A value that JSON can't hold (NaN and infinities included) or a key of a
            mapping that isn't a string.
    """
    return f"{stem(identity)}-{_digest(versions)[:_SUFFIX_DIGITS]}"


def stem(identity: Mapping[str, Any]) -> str:
    """The first part of :func:`key`, which no version changes."""
    return _digest(identity)[:STEM_DIGITS]


def stem_of(key: str) -> str:
    """The stem of a key."""
    return key.partition("-")[0]


def _digest(value: Mapping[str, Any]) -> str:
    _check(value, "")
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


# json.dumps alone would write True and "true" as keys alike, and turn an IntEnum or a subclass of
# float into text of its own choosing.
def _check(value: Any, place: str) -> None:
    if value is None or type(value) in (str, bool, int, float):
        return
    if type(value) in (list, tuple):
        for index, item in enumerate(value):
            _check(item, f"{place}[{index}]")
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if type(name) is not str:
                raise ValueError(f"{place or 'identity'}: the name {name!r} is not a string")
            _check(item, f"{place}.{name}" if place else name)
    else:
        kind = type(value).__name__
        raise ValueError(f"{place or 'identity'}: {value!r} ({kind}) is not a JSON value")
