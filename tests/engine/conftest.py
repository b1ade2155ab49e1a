"""A Ray of simulated nodes for the engine's tests, and what kills a sandbox's owner."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from runner.sandbox.owner import MARK

# Where the helpers lie, and works.py: sandboxes find it by the driver's path.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def executioner(request: pytest.FixtureRequest) -> Iterator[None]:
    """Kills the owner of every sandbox whose work connects to a test's folder's name."""
    if "tmp_path" not in request.fixturenames:
        yield
        return
    name = f"\0{request.getfixturevalue('tmp_path')}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        threading.Thread(target=_execute, args=(server,), daemon=True).start()
        yield
        # Wakes the thread, which then ends.
        server.shutdown(socket.SHUT_RDWR)


def _execute(server: socket.socket) -> None:
    while True:
        try:
            work, _ = server.accept()
        except OSError:
            return
        with work:
            credentials = work.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        with contextlib.suppress(OSError):
            os.kill(_owner(int.from_bytes(credentials[:4], sys.byteorder)), signal.SIGKILL)


def _owner(pid: int) -> int:
    """The nearest ancestor that isn't marked as a sandbox's."""
    process = psutil.Process(pid)
    return next(p.pid for p in process.parents() if MARK not in p.environ())


@pytest.fixture(scope="session")
def cluster() -> Any:
    """A Ray of one simulated node with two logical CPUs, to which tests may add others."""
    from runner.engine.environment import close_to_others, prepare

    prepare()
    close_to_others()
    # So that the death of a node is noticed in a second or two.
    for name, value in (
        ("initial_delay_ms", "0"),
        ("period_ms", "500"),
        ("timeout_ms", "1000"),
        ("failure_threshold", "3"),
    ):
        os.environ[f"RAY_health_check_{name}"] = value
    from ray.cluster_utils import Cluster

    simulated = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 2, "memory": 4 * 2**30, "object_store_memory": 200 * 2**20},
    )
    yield simulated
    simulated.shutdown()
