"""Sealed boxes: anyone seals with the public key, only the integration team's private key opens.

Libsodium's sealed boxes (X25519, XSalsa20-Poly1305), written as text that can be mailed.
"""

from __future__ import annotations

import base64
import binascii
import os
from dataclasses import dataclass
from pathlib import Path

from runner.ci.access import check_permissions
from runner.ci.columns import read_file
from runner.errors import CannotRunError, InputError

KEY_VARIABLE = "RUNNER_CI_PRIVATE_KEY"
_HEADER = b"runner-ci sealed 1\n"
_PUBLIC = "public-"
_PRIVATE = "private-"
_KEY_BYTES = 32


@dataclass(frozen=True)
class KeyPair:
    """Two keys as text."""

    public: str
    private: str


def make_pair() -> KeyPair:
    """A new pair of keys."""
    from nacl.public import PrivateKey

    key = PrivateKey.generate()
    return KeyPair(_encoded(_PUBLIC, bytes(key.public_key)), _encoded(_PRIVATE, bytes(key)))


def check_public(text: str) -> str:
    """A public key, if it is one.

    Raises:
        ValueError: Says what would be right, never what was given: it may be the private one.
    """
    if text.startswith(_PRIVATE):
        raise ValueError(
            "is the private key, which must not stand here: make a new pair (`runner ci keys`)"
        )
    _decoded(_PUBLIC, text)
    return text


def public_of(private: str) -> str:
    """The public key that belongs to a private one.

    Raises:
        InputError: If that is no private key.
    """
    from nacl.public import PrivateKey

    return _encoded(_PUBLIC, bytes(PrivateKey(_private_bytes(private)).public_key))


def seal(content: bytes, public: str) -> bytes:
    """The content as text that only the private key opens.

    Raises:
        ValueError: If that is no public key.
    """
    from nacl.public import PublicKey, SealedBox

    box = SealedBox(PublicKey(_decoded(_PUBLIC, check_public(public))))
    return _HEADER + base64.encodebytes(box.encrypt(content))


def is_sealed(content: bytes) -> bool:
    """Whether a file's content is sealed."""
    return content.lstrip().startswith(_HEADER.rstrip())


def unseal(content: bytes, private: str, path: Path | None = None) -> bytes:
    """What was sealed.

    Args:
        path: For messages.

    Raises:
        CannotRunError: If the key doesn't open it, or it was changed.
        InputError: If that is no private key.
    """
    from nacl.exceptions import CryptoError
    from nacl.public import PrivateKey, SealedBox

    body = content.lstrip()[len(_HEADER) :]
    try:
        box = base64.b64decode(b"".join(body.split()), validate=True)
        found: bytes = SealedBox(PrivateKey(_private_bytes(private))).decrypt(box)
        return found
    except (binascii.Error, CryptoError):
        raise CannotRunError(
            "the private key doesn't open it: it was sealed to another key, or changed since",
            file=path,
        ) from None


def private_key(path: Path | None) -> str | None:
    """The private key of a file that only its owner reads, or else of the environment.

    Raises:
        CannotRunError: If others can read the file.
        InputError: If there is no such file.
    """
    if path is None:
        return os.environ.get(KEY_VARIABLE, "").strip() or None
    check_permissions(path, "the private key")
    return read_file(path).decode("ascii", errors="replace").strip()


def _private_bytes(text: str) -> bytes:
    try:
        return _decoded(_PRIVATE, text)
    except ValueError as error:
        raise InputError(f"the private key {error}") from None


def _encoded(prefix: str, key: bytes) -> str:
    return prefix + base64.urlsafe_b64encode(key).decode("ascii").rstrip("=")


def _decoded(prefix: str, text: str) -> bytes:
    try:
        key = base64.b64decode(text.removeprefix(prefix) + "=", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not text.startswith(prefix) or len(key) != _KEY_BYTES:
        raise ValueError(f"must be one that `runner ci keys` made, {prefix!r} and 43 characters")
    return key
