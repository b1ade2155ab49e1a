"""The warm parent: pins itself, imports what works need, and forks a child for each of them.

It never computes: a child forked after a fit hangs in LightGBM. The owner starts it as
``python -c BOOTSTRAP CONFIG`` and talks to it over a socket of JSON packets.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import socket
import sys
import time
from typing import Any

from runner.sandbox import child, kernel, namespaces, procfs, shared_memory

BOOTSTRAP = """
import importlib.util, json, os, sys
config = json.loads(sys.argv[1])
# Before any library is imported: they size their thread pools by what they may use.
os.sched_setaffinity(0, config["cores"])
place = importlib.util.spec_from_file_location("namespaces", config["namespaces"])
namespaces = importlib.util.module_from_spec(place)
place.loader.exec_module(namespaces)
namespaces.enter(config["view"])
sys.path[:] = config["path"]
from runner.sandbox.zygote import main
main(config)
"""
PROCESSES = "/proc/self/ns/pid"
PACKET = 1 << 16
MOST_DESCRIPTORS = 250
"""Fewer than the kernel passes at once."""
SWEEP_SECONDS = 10.0
PROGRESS_SECONDS = 0.005


def main(config: dict[str, Any]) -> None:
    """Serve the owner until it closes the socket.

    Args:
        config: ``owner`` (process id), ``socket`` (descriptor), ``cores``, ``preload`` (modules
            and functions), ``path`` (sys.path), ``namespaces`` (that module's file), ``view``
            (what it enters), ``processes`` (the owner's process namespace).
    """
    jailed = config["view"]["kind"] in ("jail", "inside")
    alone = os.readlink(PROCESSES) != config["processes"]
    # Among processes of its own its parent is another one, which dies with the owner.
    kernel.die_with_parent(os.getppid() if alone else config["owner"])
    kernel.adopt_orphans()
    if jailed:
        # Somebody else's code runs as the same user, and is not to trace this process.
        namespaces.dumpable(False)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    channel = socket.socket(fileno=config["socket"])
    for name in config["preload"]:
        module, _, function = name.partition(":")
        found = importlib.import_module(module)
        if function:
            getattr(found, function)()
    # What is here now is never collected, so a child's collector doesn't write to its pages.
    gc.collect()
    gc.freeze()
    itself = os.pidfd_open(os.getpid())
    socket.send_fds(channel, [json.dumps({"ready": True}).encode()], [itself])
    os.close(itself)
    # Blocked, an end is waited for instead of looked for; the child unblocks it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    _Zygote(channel, alone, own_memory=config["view"]["kind"] != "none").serve()


class _Zygote:
    def __init__(self, channel: socket.socket, alone: bool, own_memory: bool):
        self._channel = channel
        self._alone = alone
        self._own_memory = own_memory
        self._child: int | None = None
        self._status: int | None = None
        self._user = 0.0
        self._system = 0.0

    def serve(self) -> None:
        while True:
            packet, descriptors, _, _ = socket.recv_fds(self._channel, PACKET, MOST_DESCRIPTORS)
            if not packet:
                self._sweep(look=True)
                return
            request = json.loads(packet)
            if "fork" in request:
                self._fork(child.Start(**request["fork"]), descriptors)
            else:
                self._sweep(request["look"])
                reply = {"status": self._status, "user": self._user, "system": self._system}
                self._channel.send(json.dumps(reply).encode())

    def _fork(self, start: child.Start, descriptors: list[int]) -> None:
        self._status, self._user, self._system = None, 0.0, 0.0
        zygote = os.getpid()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            self._channel.close()
            child.main(zygote, start, child.Descriptors.received(descriptors, len(start.arrays)))
        self._child = pid
        for descriptor in descriptors:
            os.close(descriptor)
        pidfd = os.pidfd_open(pid)
        socket.send_fds(self._channel, [json.dumps({"pid": pid}).encode()], [pidfd])
        os.close(pidfd)

    def _sweep(self, look: bool) -> None:
        """Kill and reap all that is left of the last child's tree.

        Args:
            look: Whether to look for what lives at once; otherwise the owner killed all of it,
                and looking would only take the core that the dying need to end.
        """
        give_up = time.monotonic() + SWEEP_SECONDS
        while self._reap() and time.monotonic() < give_up:
            if look and self._alone:
                # All of the namespace but this process, at once.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)
            elif look:
                _kill_descendants()
            look = signal.sigtimedwait({signal.SIGCHLD}, PROGRESS_SECONDS) is None
        if self._own_memory:
            shared_memory.clear()

    def _reap(self) -> bool:
        """Collect the ended children; whether others are left."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self._user += usage.ru_utime
            self._system += usage.ru_stime
            if pid == self._child:
                self._status = os.waitstatus_to_exitcode(status)


def _kill_descendants() -> None:
    """SIGKILL for all, before any other process of this core comes to fork again."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    for pid in procfs.descendants(os.getpid()):
        procfs.kill(pid)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
