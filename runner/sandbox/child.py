"""The child in which one work runs, from its fork to its last word."""

from __future__ import annotations

import dataclasses
import gc
import os
import resource
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from runner.sandbox import kernel, namespaces
from runner.sandbox.contract import Work
from runner.sandbox.task import Task, failure, map_array
from runner.sandbox.wire import Message, Reader, record_message

RECEIVE = 1 << 20


@dataclass(frozen=True)
class Start:
    """What a child is forked with.

    Attributes:
        folder: Working folder and place of temporary files.
        rlimits: What it limits itself to, by the names of ``resource``.
        arrays: The arrays' names.
    """

    folder: str
    rlimits: Mapping[str, int]
    arrays: tuple[str, ...] = ()


@dataclass(frozen=True)
class Descriptors:
    """What is open in a child at its start.

    Attributes:
        channel: To the owner.
        log: Takes the place of stdout and stderr.
        arrays: The arrays' files, in the order of their names.
        doors: Through these the child joins its groups.
    """

    channel: int
    log: int
    arrays: tuple[int, ...]
    doors: tuple[int, ...]

    @classmethod
    def received(cls, descriptors: list[int], arrays: int) -> Descriptors:
        """In the order in which ``sent`` puts them, ``arrays`` of them being array files."""
        channel, log, *rest = descriptors
        return cls(channel, log, tuple(rest[:arrays]), tuple(rest[arrays:]))

    def sent(self) -> list[int]:
        """All of them."""
        return [self.channel, self.log, *self.arrays, *self.doors]


def main(zygote: int, start: Start, descriptors: Descriptors) -> NoReturn:
    """Become the process of one work and run it.

    Args:
        zygote: The parent's process id.
        start: What it begins with.
        descriptors: What it has open.
    """
    status = 1
    try:
        kernel.die_with_parent(zygote)
        namespaces.dumpable(True)
        os.setsid()
        for door in descriptors.doors:
            os.write(door, b"0")
            os.close(door)
        _take_over(descriptors.log, start.folder)
        _limit(start.rlimits)
        arrays = {}
        for name, descriptor in zip(start.arrays, descriptors.arrays, strict=True):
            arrays[name] = map_array(descriptor)
            os.close(descriptor)
        os.set_inheritable(descriptors.channel, False)
        with socket.socket(fileno=descriptors.channel) as owner:
            status = _run(owner, arrays)
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


def _limit(rlimits: Mapping[str, int]) -> None:
    for name, wanted in rlimits.items():
        kind = getattr(resource, name)
        _, most = resource.getrlimit(kind)
        value = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(kind, (value, value))
    if "RLIMIT_FSIZE" in rlimits:
        # Python ignores it; not ignored, it tells the owner why the child ended.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def _run(owner: socket.socket, arrays: dict[str, np.ndarray]) -> int:
    work = _receive(owner)
    try:
        warming = Message({"kind": "warming"}).encode()
        task = Task.load(work, arrays, lambda: owner.sendall(warming))
        owner.sendall(Message({"kind": "ready"}).encode())
        # The owner reads its baselines, starts the clock and says go.
        owner.recv(1)
        task.function(task.arrays, task.argument, _Report(owner, work.evaluations))
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

    def __init__(self, owner: socket.socket, evaluations: int):
        self._owner = owner
        self._last = evaluations - 1

    def checkpoint(self, index: int) -> None:
        self._owner.sendall(Message({"kind": "checkpoint", "index": index}).encode())

    def spare(self, seconds: float) -> None:
        self._owner.sendall(Message({"kind": "spare", "seconds": float(seconds)}).encode())

    def record(
        self,
        index: int,
        fields: Mapping[str, float | int | str | None],
        predictions: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self._owner.sendall(record_message(index, fields, predictions).encode())
        if index != self._last:
            # What the kernel counts from now on belongs to the next one, once the owner has read
            # what it counted before.
            self._owner.recv(1)
