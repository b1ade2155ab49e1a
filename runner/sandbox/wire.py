"""Messages on the channel between a sandbox's owner and its child: JSON, then raw array bytes.

What comes from the child is judged, never believed: lengths are capped before anything is
allocated, and nothing is unpickled.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from runner.sandbox.ledger import MalformedError

HEADER_CAP = 1 << 20
PAYLOAD_CAP = 256 << 20
"""Bytes that all payloads of one work may have together."""

_LENGTHS = struct.Struct("!IQ")
_DTYPE = re.compile(r"[<>|]?[biufUS][1-9][0-9]{0,8}")

Field = float | int | str | None


@dataclass(frozen=True)
class Message:
    """One message: a JSON object with a ``kind``, and the bytes that go with it."""

    header: Mapping[str, Any]
    payload: bytes = b""

    @property
    def kind(self) -> str:
        return str(self.header.get("kind"))

    def encode(self) -> bytes:
        """The message as it goes over the channel.

        Raises:
            ValueError: Its header is larger than the reader takes.
        """
        header = json.dumps(self.header, separators=(",", ":")).encode()
        if len(header) > HEADER_CAP:
            raise ValueError(f"a record's fields take {len(header)} bytes; {HEADER_CAP} at most")
        return _LENGTHS.pack(len(header), len(self.payload)) + header + self.payload


class Reader:
    """Cuts a stream of bytes into messages.

    Args:
        payload_cap: Bytes that all payloads may have together.
    """

    def __init__(self, payload_cap: int = PAYLOAD_CAP) -> None:
        self._buffer = bytearray()
        self._payload_left = payload_cap

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that ``data`` completes.

        Raises:
            MalformedError: The stream is none of ours, or larger than it may be.
        """
        self._buffer += data
        while len(self._buffer) >= _LENGTHS.size:
            header_size, payload_size = _LENGTHS.unpack_from(self._buffer)
            if header_size > HEADER_CAP or payload_size > self._payload_left:
                raise MalformedError(f"a message of {header_size} + {payload_size} bytes")
            header_end = _LENGTHS.size + header_size
            end = header_end + payload_size
            if len(self._buffer) < end:
                return
            header = _header(bytes(self._buffer[_LENGTHS.size : header_end]))
            payload = bytes(self._buffer[header_end:end])
            del self._buffer[:end]
            self._payload_left -= payload_size
            yield Message(header, payload)


def _header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedError("a header that isn't JSON") from error
    if not isinstance(header, dict):
        raise MalformedError("a header that isn't an object")
    return header


def record_message(
    index: int, fields: Mapping[str, Any], predictions: Mapping[str, np.ndarray] | None
) -> Message:
    """The message of one record.

    Raises:
        TypeError: A field isn't a number or a text, or an array holds Python objects.
    """
    header: dict[str, Any] = {"kind": "record", "index": index, "fields": plain_fields(fields)}
    if predictions is None:
        return Message(header)
    arrays = plain_arrays(predictions)
    header["arrays"] = [[name, a.dtype.str, list(a.shape)] for name, a in arrays.items()]
    return Message(header, b"".join(a.tobytes() for a in arrays.values()))


def read_index(message: Message) -> int:
    """The evaluation that a message is about.

    Raises:
        MalformedError: It names none.
    """
    index = message.header.get("index")
    if type(index) is not int:
        raise MalformedError("a message without its evaluation's number")
    return index


def read_seconds(message: Message) -> float:
    """The seconds that a message names.

    Raises:
        MalformedError: It names none.
    """
    seconds = message.header.get("seconds")
    if type(seconds) is not float:
        raise MalformedError("a message without its seconds")
    return seconds


def read_record(message: Message) -> tuple[dict[str, Field], dict[str, np.ndarray] | None]:
    """Fields and predictions of a record.

    Raises:
        MalformedError: It isn't one.
    """
    fields = message.header.get("fields")
    if not isinstance(fields, dict):
        raise MalformedError("a record without fields")
    try:
        plain = plain_fields(fields)
    except TypeError as error:
        raise MalformedError(str(error)) from error
    if "arrays" in message.header:
        return plain, _arrays(message.header["arrays"], message.payload)
    if message.payload:
        raise MalformedError("bytes that belong to no array")
    return plain, None


def _arrays(described: Any, payload: bytes) -> dict[str, np.ndarray]:
    if not isinstance(described, list):
        raise MalformedError("arrays that aren't listed")
    arrays: dict[str, np.ndarray] = {}
    offset = 0
    for entry in described:
        name, dtype, shape = _description(entry)
        count = 1
        for length in shape:
            count *= length
        end = offset + count * dtype.itemsize
        if end > len(payload):
            raise MalformedError(f"array {name!r} is larger than its bytes")
        flat = np.frombuffer(payload, dtype, count, offset) if count else np.empty(0, dtype)
        try:
            arrays[name] = flat.reshape(shape)
        except ValueError as error:
            raise MalformedError(f"array {name!r} of shape {shape}") from error
        offset = end
    if offset != len(payload):
        raise MalformedError("bytes that belong to no array")
    return arrays


def _description(entry: Any) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    match entry:
        case [str(name), str(dtype), list(shape)] if _DTYPE.fullmatch(dtype):
            if len(shape) <= 8 and all(type(n) is int and 0 <= n <= PAYLOAD_CAP for n in shape):
                try:
                    return name, np.dtype(dtype), tuple(shape)
                except (TypeError, ValueError) as error:
                    raise MalformedError(f"an array of type {dtype}") from error
    raise MalformedError("an array without name, type and shape")


def plain_fields(fields: Mapping[str, Any]) -> dict[str, Field]:
    """Fields as JSON has them: NumPy's scalars as Python's.

    Raises:
        TypeError: A value is neither a number nor a text, or a name is no text.
    """
    plain: dict[str, Field] = {}
    for name, value in fields.items():
        value = value.item() if isinstance(value, np.generic) else value
        if not isinstance(name, str) or not isinstance(value, float | int | str | None):
            raise TypeError(
                f"field {name!r} of a record is of type {type(value).__name__}; "
                "it should be a number, a text or None"
            )
        plain[name] = value
    return plain


def plain_arrays(arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Arrays whose bytes tell everything: Python strings become NumPy's fixed-width text.

    Raises:
        TypeError: An array holds other Python objects, or structures.
    """
    return {name: _plain_array(name, array) for name, array in arrays.items()}


def _plain_array(name: str, array: Any) -> np.ndarray:
    plain = np.asarray(array)
    if plain.dtype.kind in "OT" and all(isinstance(value, str) for value in plain.flat):
        plain = plain.astype(np.str_)
    if not _DTYPE.fullmatch(plain.dtype.str):
        raise TypeError(
            f"array {name!r} of a record is of type {plain.dtype}; "
            "it should hold numbers, booleans or text"
        )
    return np.ascontiguousarray(plain).reshape(plain.shape)
