"""The owner's side of a zygote: start it, ask it for a child, ask it to clean up, end it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.sandbox import namespaces, procfs
from runner.sandbox.child import Descriptors, Start
from runner.sandbox.clock import CpuTime
from runner.sandbox.owner import MARK
from runner.sandbox.zygote import BOOTSTRAP, PACKET, PROCESSES

START_SECONDS = 120.0
REPLY_SECONDS = 30.0
END_SECONDS = 5.0
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)


class ZygoteError(Exception):
    """The zygote didn't start, died or doesn't answer."""


@dataclass(frozen=True)
class Surrounding:
    """What a zygote starts in.

    Attributes:
        view: What it has ``namespaces.enter``.
        command: What stands before its own command.
        environment: Variables instead of the owner's; None: those.
    """

    view: Mapping[str, Any]
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Forked:
    """A child of the zygote that waits for its work; ``pidfd`` is the holder's to close."""

    pid: int
    pidfd: int


@dataclass(frozen=True)
class Swept:
    """How a child ended (exit code, or minus the signal; None: unknown), and its tree's time."""

    status: int | None
    time: CpuTime


class Zygote:
    """A running zygote.

    Args:
        name: Marks it and all its descendants in their environment.
        cores: What it pins itself to before it imports anything.
        threads: What libraries may use of them.
        preload: Modules to import, and functions to call.
        surrounding: What it starts in.

    Attributes:
        view: What it entered.
        pid: Its number here, whatever it has in a namespace of its own.

    Raises:
        ZygoteError: It didn't come up, as where a module can't be imported.
    """

    def __init__(
        self,
        name: str,
        cores: Sequence[int],
        threads: int,
        preload: Sequence[str],
        surrounding: Surrounding,
    ):
        self._mark = name
        self.view = surrounding.view
        self._pidfd = -1
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._log = os.memfd_create("zygote-log")
        config = {
            "owner": os.getpid(),
            "socket": theirs.fileno(),
            "cores": list(cores),
            "preload": list(preload),
            "path": [os.path.abspath(folder) for folder in sys.path],
            "namespaces": namespaces.__file__,
            "view": dict(surrounding.view),
            "processes": os.readlink(PROCESSES),
        }
        # -P: the working folder's modules must not shadow the bootstrap's.
        self._process = subprocess.Popen(
            [*surrounding.command, sys.executable, "-P", "-c", BOOTSTRAP, json.dumps(config)],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=_environment(name, threads, surrounding.environment),
            start_new_session=True,
        )
        theirs.close()
        self._socket.settimeout(START_SECONDS)
        try:
            _, (self._pidfd,) = self._reply()
            self.pid = procfs.of_descriptor(self._pidfd)
        except BaseException:
            self.close()
            raise
        self._socket.settimeout(REPLY_SECONDS)

    def fileno(self) -> int:
        """The socket's descriptor, readable once the zygote is gone."""
        return self._socket.fileno()

    def alive(self) -> bool:
        return self._process.poll() is None

    def fork(self, start: Start, descriptors: Descriptors) -> None:
        """Ask for a child.

        Raises:
            ZygoteError: The zygote is gone.
        """
        request = json.dumps({"fork": dataclasses.asdict(start)}).encode()
        try:
            socket.send_fds(self._socket, [request], descriptors.sent())
        except OSError as error:
            raise ZygoteError(f"the zygote is gone: {error}") from error

    def forked(self) -> Forked:
        """The child asked for.

        Raises:
            ZygoteError: None came.
        """
        _, (pidfd,) = self._reply()
        return Forked(procfs.of_descriptor(pidfd), pidfd)

    def sweep(self, look: bool) -> Swept:
        """Kill and reap whatever is left of the last child's tree.

        Args:
            look: Whether something may live on; otherwise all were killed already.

        Raises:
            ZygoteError: No answer came.
        """
        try:
            self._socket.send(json.dumps({"look": look}).encode())
        except OSError as error:
            raise ZygoteError(f"the zygote is gone: {error}") from error
        reply, _ = self._reply()
        return Swept(reply["status"], CpuTime(reply["user"], reply["system"]))

    def close(self) -> None:
        """End it and whatever descends from it."""
        self._process.kill()
        self._process.wait()
        self._socket.close()
        if self._pidfd >= 0:
            # Where another program started it, it ends a moment after that one.
            select.select([self._pidfd], [], [], END_SECONDS)
            os.close(self._pidfd)
            self._pidfd = -1
        procfs.kill_marked(MARK, lambda name: name == self._mark)
        if self._log >= 0:
            os.close(self._log)
            self._log = -1

    def _reply(self) -> tuple[dict[str, Any], list[int]]:
        try:
            packet, descriptors, _, _ = socket.recv_fds(self._socket, PACKET, 4)
        except OSError as error:
            raise ZygoteError(f"the zygote doesn't answer: {error}") from error
        if not packet:
            raise ZygoteError(f"the zygote ended: {self._last_line()}")
        try:
            reply = json.loads(packet)
        except ValueError as error:
            raise ZygoteError("the zygote's answer is malformed") from error
        return reply, descriptors

    def _last_line(self) -> str:
        """The end of what it printed: where an import failed, the exception."""
        with contextlib.suppress(OSError):
            size = os.fstat(self._log).st_size
            lines = (
                os.pread(self._log, 4096, max(0, size - 4096)).decode(errors="replace").split("\n")
            )
            return next((line for line in reversed(lines) if line.strip()), "without a word")
        return "without a word"


def _environment(name: str, threads: int, given: Mapping[str, str] | None) -> dict[str, str]:
    environment = dict(os.environ if given is None else given)
    environment.update({variable: str(threads) for variable in THREAD_VARIABLES})
    # Threads that spin while they wait would take the cores from those that work.
    environment["OMP_WAIT_POLICY"] = "PASSIVE"
    # Sets of texts iterate in the same order in every run.
    environment["PYTHONHASHSEED"] = "0"
    environment[MARK] = name
    return environment
