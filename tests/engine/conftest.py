"""A source of jobs, a sink and an observer for the engine's tests."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest

from runner.engine import Evaluation, Job, Settings
from runner.sandbox import Limits
from runner.sandbox.owner import MARK

# Where works.py lies: sandboxes find it by the driver's path.
sys.path.insert(0, str(Path(__file__).parent))

GIB = 2**30

COLUMNS = {"run_id": "run", "study": "study", "timing": "packed", "versions": "{}"}


def job(name: str, cost: float = 0.01, arrays: str | None = None, **argument: Any) -> Job:
    """A job whose evaluations NAME-0, NAME-1, ... report the scores in the argument."""
    argument.setdefault("scores", [0.5])
    return Job(
        evaluations=tuple(
            Evaluation(f"{name}-{i}", {"stage": "cv", "task": "task", "configuration_id": i})
            for i in range(len(argument["scores"]))
        ),
        argument=pickle.dumps(argument),
        cost=cost,
        arrays=arrays,
    )


class Jobs:
    """A source of these jobs, and of those that ``after`` makes of finished rows."""

    def __init__(
        self,
        jobs: Sequence[Job],
        after: Callable[[Mapping[str, Any]], Sequence[Job]] = lambda row: (),
    ):
        self._jobs = jobs
        self._after = after

    def initial(self) -> Sequence[Job]:
        return self._jobs

    def follow_up(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Job]:
        return [job for row in rows for job in self._after(row)]


class Table:
    """A sink that keeps rows, and may do something at each commit."""

    def __init__(self, at_commit: Callable[[pa.Table], None] = lambda rows: None):
        self.commits: list[pa.Table] = []
        self.predictions: list[pa.Table] = []
        self._at_commit = at_commit

    def __call__(self, rows: pa.Table, predictions: pa.Table | None) -> None:
        self._at_commit(rows)
        if predictions is not None:
            self.predictions.append(predictions)
        self.commits.append(rows)

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = pa.concat_tables(self.commits).to_pylist()
        return rows

    def by_key(self) -> dict[str, dict[str, Any]]:
        """The rows by key; fails if a key is there twice."""
        rows = self.rows
        found = {row["key"]: row for row in rows}
        assert len(found) == len(rows)
        return found


class Quiet:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []
        self.messages: list[str] = []

    def progress(self, done: int, total: int, seconds_left: float | None) -> None:
        self.told.append((done, total))

    def message(self, text: str) -> None:
        self.messages.append(text)


def settings(**changes: Any) -> Settings:
    """Settings for `works.act` in sandboxes of one core."""
    values: dict[str, Any] = {
        "function": "works:act",
        "limits": Limits(cpus=1, memory=GIB, seconds=10.0),
        "columns": COLUMNS,
        **changes,
    }
    return Settings(**values)


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
        head_node_args={"num_cpus": 2, "memory": 4 * GIB, "object_store_memory": 200 * 2**20},
    )
    yield simulated
    simulated.shutdown()
