"""The child in which one work runs, from its fork to its last word."""

from __future__ import annotations

import dataclasses
import gc
import os
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Mapping
from typing import NoReturn

import numpy as np

from runner.sandbox import kernel
from runner.sandbox.contract import Work
from runner.sandbox.task import Task, failure
from runner.sandbox.wire import Message, Reader, record_message

RECEIVE = 1 << 20


def main(zygote: int, channel: int, log: int, doors: list[int], folder: str) -> NoReturn:
    """Become the process of one work and run it.

    Args:
        zygote: The parent's process id.
        channel: Descriptor of the channel to the owner.
        log: Descriptor that takes the place of stdout and stderr.
        doors: Descriptors through which the child joins its groups.
        folder: Working folder and place of temporary files.
    """
    status = 1
    try:
        kernel.die_with_parent(zygote)
        os.setsid()
        for door in doors:
            os.write(door, b"0")
            os.close(door)
        _take_over(log, folder)
        with socket.socket(fileno=channel) as owner:
            status = _run(owner)
    except BaseException:
        traceback.print_exc()
    finally:
        # Nothing of the zygote's, such as an exit handler of a library, runs here.
        os._exit(status)


def _take_over(log: int, folder: str) -> None:
    """Leave behind what the zygote's signals, streams and folder were."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    os.chdir(folder)
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    gc.enable()


def _run(owner: socket.socket) -> int:
    work = _receive(owner)
    try:
        task = Task.load(work)
        owner.sendall(Message({"kind": "ready"}).encode())
        # The owner reads its baselines, starts the clock and says go.
        owner.recv(1)
        task.function(task.arrays, task.argument, _Report(owner))
    except SystemExit as leaving:
        return _exit_code(leaving)
    except BaseException as error:
        traceback.print_exc()
        sys.stderr.flush()
        last = Message({"kind": "error", **dataclasses.asdict(failure(error))})
    else:
        last = Message({"kind": "done"})
    sys.stdout.flush()
    owner.sendall(last.encode())
    # The owner reads the clocks of a quiet group, and kills it then.
    owner.recv(1)
    return 0


def _receive(owner: socket.socket) -> Work:
    """Announce this process, which is in its groups now, and wait for the word to go."""
    owner.sendall(Message({"kind": "joined"}).encode())
    reader = Reader(payload_cap=sys.maxsize)
    while True:
        data = owner.recv(RECEIVE)
        if not data:
            os._exit(1)
        for message in reader.feed(data):
            return work_from(message)


def work_message(work: Work) -> Message:
    """The message that tells a child its work."""
    header = {
        "kind": "work",
        "function": work.function,
        "warm_up": work.warm_up,
        "arrays": work.arrays,
        "evaluations": work.evaluations,
    }
    return Message(header, work.argument)


def work_from(message: Message) -> Work:
    """The work that ``work_message`` told."""
    header = {name: value for name, value in message.header.items() if name != "kind"}
    return Work(argument=message.payload, **header)


def _exit_code(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    return leaving.code & 0xFF if isinstance(leaving.code, int) else 1


class _Report:
    """Sends what a function reports to the owner."""

    def __init__(self, owner: socket.socket):
        self._owner = owner

    def checkpoint(self, index: int) -> None:
        self._owner.sendall(Message({"kind": "checkpoint", "index": index}).encode())

    def record(
        self,
        index: int,
        fields: Mapping[str, float | int | str | None],
        predictions: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self._owner.sendall(record_message(index, fields, predictions).encode())
