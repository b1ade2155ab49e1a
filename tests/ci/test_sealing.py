"""Sealed boxes: libsodium opens them, only the right key does, and nothing of a key is told."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nacl.bindings import crypto_box_seal_open

from runner.ci.sealing import (
    check_public,
    is_sealed,
    make_pair,
    private_key,
    public_of,
    seal,
    unseal,
)
from runner.errors import CannotRunError, InputError

PAIR = make_pair()


def raw(key: str) -> bytes:
    return base64.urlsafe_b64decode(key.partition("-")[2] + "=")


@settings(deadline=None)
@given(st.binary(max_size=5000))
def test_libsodium_opens_what_was_sealed(content: bytes) -> None:
    sealed = seal(content, PAIR.public)
    assert is_sealed(sealed)
    assert unseal(b"\n " + sealed, PAIR.private) == content
    box = base64.b64decode(sealed.split(b"\n", 1)[1])
    assert crypto_box_seal_open(box, raw(PAIR.public), raw(PAIR.private)) == content
    assert max(map(len, sealed.splitlines())) <= 76
    assert public_of(PAIR.private) == PAIR.public


def test_another_key_or_a_changed_box_opens_nothing() -> None:
    sealed = seal(b"labels", PAIR.public)
    for content, key in (
        (sealed, make_pair().private),
        (sealed.replace(sealed[40:41], b"A" if sealed[40:41] != b"A" else b"B"), PAIR.private),
        (sealed[:-6], PAIR.private),
        (sealed + b"more\n", PAIR.private),
    ):
        with pytest.raises(CannotRunError, match="doesn't open"):
            unseal(content, key)


@pytest.mark.parametrize("key", ["", "public-", "public-abc", "public-é" * 9, PAIR.public + "A"])
def test_what_is_no_key_is_not_repeated(key: str) -> None:
    with pytest.raises(ValueError, match="must be one that") as refused:
        check_public(key)
    assert "abc" not in str(refused.value)


def test_a_private_key_in_the_public_ones_place() -> None:
    with pytest.raises(ValueError, match="is the private key") as refused:
        check_public(PAIR.private)
    assert PAIR.private[8:20] not in str(refused.value)


def test_where_the_private_key_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUNNER_CI_PRIVATE_KEY", raising=False)
    assert private_key(None) is None
    monkeypatch.setenv("RUNNER_CI_PRIVATE_KEY", PAIR.private + "\n")
    assert private_key(None) == PAIR.private
    path = tmp_path / "key"
    path.write_text(PAIR.private + "\n")
    path.chmod(0o644)
    with pytest.raises(CannotRunError, match="chmod 600"):
        private_key(path)
    path.chmod(0o600)
    assert private_key(path) == PAIR.private
    with pytest.raises(InputError, match="the private key must be one"):
        unseal(seal(b"", PAIR.public), "private-x")
