"""What tests of several packages need."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

from openml_server import OpenmlServer

# How long an example takes says how busy the machine is.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture
def openml_server() -> Iterator[OpenmlServer]:
    """A local OpenML server."""
    with OpenmlServer() as server:
        yield server


@pytest.fixture
def configured_openml(
    openml_server: OpenmlServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> OpenmlServer:
    """The local server, which the openml package is configured for, with an empty cache."""
    # Importing it makes folders in the user's home.
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENML_SERVER", openml_server.url)
    import openml

    monkeypatch.setattr(openml.config, "server", openml_server.url)
    monkeypatch.setattr(openml.config, "_root_cache_directory", tmp_path / "cache")
    monkeypatch.setattr(openml.config, "connection_n_retries", 2)
    return openml_server
