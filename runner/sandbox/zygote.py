"""The warm parent: pins itself, imports what works need, and forks a child for each of them.

It never computes: a child forked after a fit hangs in LightGBM. The owner starts it as
``python -c BOOTSTRAP CONFIG`` and talks to it over a socket of JSON packets.
"""

from __future__ import annotations

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

from runner.sandbox import child, kernel, procfs

BOOTSTRAP = """
import json, os, sys
config = json.loads(sys.argv[1])
# Before any library is imported: they size their thread pools by what they may use.
os.sched_setaffinity(0, config["cores"])
sys.path[:] = config["path"]
from runner.sandbox.zygote import main
main(config)
"""
PACKET = 1 << 16
SWEEP_SECONDS = 10.0


def main(config: dict[str, Any]) -> None:
    """Serve the owner until it closes the socket.

    Args:
        config: ``owner`` (process id), ``socket`` (descriptor), ``cores``, ``preload`` (modules),
            ``path`` (sys.path).
    """
    kernel.die_with_parent(config["owner"])
    kernel.adopt_orphans()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    channel = socket.socket(fileno=config["socket"])
    for module in config["preload"]:
        importlib.import_module(module)
    # What is here now is never collected, so a child's collector doesn't write to its pages.
    gc.collect()
    gc.freeze()
    channel.send(json.dumps({"ready": True}).encode())
    # Blocked, an end is waited for instead of looked for; the child unblocks it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    _Zygote(channel).serve()


class _Zygote:
    def __init__(self, channel: socket.socket):
        self._channel = channel
        self._child: int | None = None
        self._status: int | None = None
        self._user = 0.0
        self._system = 0.0

    def serve(self) -> None:
        while True:
            packet, descriptors, _, _ = socket.recv_fds(self._channel, PACKET, 16)
            if not packet:
                self._sweep()
                return
            request = json.loads(packet)
            if "fork" in request:
                self._fork(request["fork"], descriptors)
            else:
                self._sweep()
                reply = {"status": self._status, "user": self._user, "system": self._system}
                self._channel.send(json.dumps(reply).encode())

    def _fork(self, folder: str, descriptors: list[int]) -> None:
        self._status, self._user, self._system = None, 0.0, 0.0
        zygote = os.getpid()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            self._channel.close()
            channel, log, *doors = descriptors
            child.main(zygote, channel, log, doors, folder)
        self._child = pid
        for descriptor in descriptors:
            os.close(descriptor)
        pidfd = os.pidfd_open(pid)
        socket.send_fds(self._channel, [json.dumps({"pid": pid}).encode()], [pidfd])
        os.close(pidfd)

    def _sweep(self) -> None:
        """Kill and reap all that is left of the last child's tree."""
        give_up = time.monotonic() + SWEEP_SECONDS
        while self._reap() and time.monotonic() < give_up:
            for pid in procfs.descendants(os.getpid()):
                procfs.kill(pid)
            signal.sigtimedwait({signal.SIGCHLD}, 0.01)

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
