"""One work in its child: what the owner waits for, and how it judges what it sees."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from runner.sandbox import task
from runner.sandbox.child import RECEIVE, Descriptors, Start, work_message
from runner.sandbox.clock import CpuTime
from runner.sandbox.confinement import Confinement, Evidence
from runner.sandbox.contract import Limits, Result, Usage, Work
from runner.sandbox.ledger import End, Ledger, MalformedError, Reading
from runner.sandbox.warm import Forked, Swept, Zygote, ZygoteError
from runner.sandbox.wire import Message, Reader, read_index, read_record, read_seconds

LOG_BYTES = 64 << 10
CPU_TICK = 0.005
STARTUP_SECONDS = 120.0
"""What importing and mapping may take before the clock starts."""
WARM_UP_SECONDS = 10.0
"""A warm-up may take this much where an evaluation's own limit is shorter: it is a toy's fit, but
on a machine that may be crowded."""

_WARMING = "in the warm-up, before the clock"


class Execution:
    """Runs one work to its end.

    Args:
        zygote: Forks the child.
        confinement: Made for this work.
        work: What to run.
        limits: Of each of its evaluations.
        folder: The child's working folder.
        trusted: Whether it may say what of its time isn't an evaluation's own.
    """

    def __init__(
        self,
        zygote: Zygote,
        confinement: Confinement,
        work: Work,
        limits: Limits,
        folder: str,
        *,
        trusted: bool,
    ):
        self._zygote = zygote
        self._confinement = confinement
        self._work = work
        self._folder = folder
        self._cpu_limited = limits.cpu_seconds is not None
        cpu_seconds = float("inf") if limits.cpu_seconds is None else limits.cpu_seconds
        self._warm_up_seconds = max(limits.seconds, WARM_UP_SECONDS)
        self._warm_up_deadline: float | None = None
        self._ledger = Ledger(
            work.evaluations, Reading(limits.seconds, cpu_seconds), trusted=trusted
        )
        self._reader = Reader()
        self._log = bytearray()
        self._log_end = -1
        self._channel: socket.socket | None = None
        self._child: Forked | None = None
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[], None]] = {}
        self._startup_deadline = time.monotonic() + STARTUP_SECONDS
        self._admitted = False
        self._started: float | None = None
        self._seen = Evidence()
        self._over = False
        self._exited = False
        self._end: End | None = None

    def run(self, enforced: Mapping[str, str]) -> Result:
        """The result; whatever happened, nothing of the tree lives afterwards.

        Args:
            enforced: What the result says its limits rested on.
        """
        try:
            try:
                self._fork()
                while not self._over:
                    self._step()
            except ZygoteError as error:
                self._zygote.close()
                self._finish(End("infra", "zygote", str(error)))
            return self._conclude(enforced)
        finally:
            self._release()

    def _fork(self) -> None:
        self._log_end, log_theirs = os.pipe2(os.O_CLOEXEC)
        self._channel, channel_theirs = socket.socketpair()
        try:
            with self._confinement.doors() as doors, _opened(self._work.arrays) as arrays:
                files, gates = tuple(arrays.values()), tuple(doors)
                self._zygote.fork(
                    Start(self._folder, self._confinement.rlimits, tuple(arrays)),
                    Descriptors(channel_theirs.fileno(), log_theirs, files, gates),
                )
        finally:
            os.close(log_theirs)
            channel_theirs.close()
        self._child = self._zygote.forked()
        self._channel.setblocking(False)
        os.set_blocking(self._log_end, False)
        # In the order in which they are judged: what was said counts before what ended, and a
        # zygote's end takes its child along.
        self._handlers = {
            self._channel.fileno(): self._hear,
            self._log_end: self._drain,
            self._zygote.fileno(): self._zygote_ended,
            self._child.pidfd: self._child_ended,
        }
        for descriptor in self._handlers:
            self._poll.register(descriptor, select.POLLIN)

    def _step(self) -> None:
        """Wait for a message, output, an end or the deadline, and act on it."""
        ready = dict(self._poll.poll(self._patience()))
        for descriptor, handle in self._handlers.items():
            if descriptor in ready and not self._over:
                handle()
        if self._over:
            return
        end = self._confinement.look()
        if end is not None:
            self._finish(end)
        elif time.monotonic() >= self._deadline:
            self._finish(self._judged(self._late()))
        elif self._cpu_left() <= 0:
            self._finish(self._judged(End("timeout", "cpu")))

    @property
    def _deadline(self) -> float:
        if self._ledger.started:
            return self._ledger.deadline
        return self._warm_up_deadline or self._startup_deadline

    def _late(self) -> End:
        """What it means that the deadline has passed."""
        if self._ledger.started:
            return End("timeout", "wall")
        if self._warm_up_deadline is not None:
            return End("timeout", "warm-up")
        return End("infra", "startup")

    def _patience(self) -> float:
        """Milliseconds that poll may wait."""
        seconds = max(0.0, self._deadline - time.monotonic())
        if self._cpu_limited and self._ledger.started:
            # Sooner it can't be used up, by all cores together.
            soonest = self._cpu_left() / self._confinement.parallel
            seconds = min(seconds, max(soonest, CPU_TICK))
        tick = self._confinement.tick
        return 1000 * min(seconds, 3600.0 if tick is None else tick)

    def _cpu_left(self) -> float:
        started = self._cpu_limited and self._ledger.started
        return self._ledger.cpu_left(self._now()) if started else float("inf")

    def _now(self) -> Reading:
        """The clocks by which evaluations are judged."""
        used = self._confinement.cpu_seconds() if self._cpu_limited and self._started else 0.0
        return Reading(time.monotonic(), used)

    def _hear(self) -> None:
        """Take what came over the channel, and when."""
        assert self._channel is not None
        data = _received(self._channel)
        if data is None:
            return
        if not data:
            self._poll.unregister(self._channel.fileno())
            return
        now = self._now()
        try:
            for message in self._reader.feed(data):
                self._take(message, now)
                if self._over:
                    return
        except MalformedError as error:
            self._finish(self._judged(End("crash", "result", str(error))))

    def _take(self, message: Message, now: Reading) -> None:
        match message.kind:
            case "joined" if not self._admitted:
                self._admit()
            case "warming" if self._admitted and self._warm_up_deadline is None:
                self._warm_up_deadline = time.monotonic() + self._warm_up_seconds
            case "ready" if self._admitted and self._started is None:
                self._start()
            case "checkpoint":
                self._ledger.checkpoint(read_index(message), now)
            case "spare":
                self._ledger.spare(read_seconds(message), now)
            case "record":
                self._ledger.record(read_index(message), *read_record(message), now)
                # The evaluation coped with whatever the kernel killed or refused before.
                self._seen = self._confinement.evidence()
                if not self._ledger.complete:
                    self._tell(b".")
            case "done":
                complete = self._ledger.complete
                self._finish(None if complete else self._judged(End("crash", "no result")))
            case "error":
                self._finish(self._judged(_raised(message)))
            case other:
                raise MalformedError(f"a message of kind {other!r} where none was due")

    def _admit(self) -> None:
        """Let the child go, now that it stands in its groups."""
        assert self._child is not None
        assert self._channel is not None
        self._admitted = True
        if not self._confinement.admit(self._child.pid):
            self._finish(End("infra", "groups", "the child didn't join its control groups"))
            return
        self._tell(work_message(self._work).encode())

    def _start(self) -> None:
        """Read the baselines, start the clock, and let the child begin."""
        assert self._child is not None
        self._confinement.start(self._child.pid)
        self._started = time.monotonic()
        self._ledger.start(Reading(self._started))
        self._tell(b"!")

    def _tell(self, data: bytes) -> None:
        assert self._channel is not None
        self._channel.settimeout(STARTUP_SECONDS)
        try:
            self._channel.sendall(data)
        except OSError:
            # It ended before it was told; its pidfd tells how.
            pass
        finally:
            self._channel.setblocking(False)

    def _drain(self) -> None:
        """Keep the end of what the tree prints, however much that is."""
        try:
            data = os.read(self._log_end, LOG_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._poll.unregister(self._log_end)
        self._log += data
        del self._log[:-LOG_BYTES]

    def _child_ended(self) -> None:
        """What it said before still counts; why it ended is known once the zygote reaped it."""
        assert self._channel is not None
        while not self._over and _received(self._channel, socket.MSG_PEEK):
            self._hear()
        self._exited = not self._over
        self._over = True

    def _zygote_ended(self) -> None:
        self._finish(End("infra", "zygote", "the zygote ended"))

    def _finish(self, end: End | None) -> None:
        self._end = end
        self._over = True

    def _judged(self, end: End) -> End:
        """``end``, or what is behind it: want of memory or of processes since the last record."""
        found = self._confinement.evidence()
        if found.oom_kills > self._seen.oom_kills:
            return End("memory", "memory")
        if found.refused > self._seen.refused:
            return End("crash", "processes", end.error)
        return end

    def _conclude(self, enforced: Mapping[str, str]) -> Result:
        """Kill, drain, read, and say what became of each evaluation."""
        now = self._now()
        self._confinement.stop()
        try:
            swept = self._zygote.sweep(look=not self._confinement.kill())
        except ZygoteError:
            # Its own end takes the child along, and closing it whatever carries its mark.
            self._zygote.close()
            swept = Swept(None, CpuTime(0, 0))
        self._drain_rest()
        end = self._exit_end(swept.status) if self._exited else self._end
        if self._started is None and self._warm_up_deadline is not None and end is not None:
            end = dataclasses.replace(end, error=end.error or _WARMING)
        return Result(
            findings=self._ledger.close(end, now),
            usage=self._usage(now, swept.time),
            log_tail=self._log.decode(errors="replace"),
            enforced=dict(enforced),
        )

    def _usage(self, now: Reading, reaped: CpuTime) -> Usage:
        """What was used; before the clock's start no time counts."""
        if self._started is not None:
            return self._confinement.usage(now.wall - self._started, reaped)
        usage = self._confinement.usage(0.0, reaped)
        return dataclasses.replace(usage, cpu_seconds=None, user_seconds=None, system_seconds=None)

    def _exit_end(self, status: int | None) -> End:
        if status is None:
            return End("infra", "zygote", "the zygote ended")
        if not self._admitted:
            return End("infra", "startup", "the child ended before it was told its work")
        if status == -signal.SIGXFSZ and "RLIMIT_FSIZE" in self._confinement.rlimits:
            return End("crash", "file-size")
        if status < 0:
            return self._judged(End("crash", f"signal {-status}"))
        return self._judged(End("crash", f"exit {status}" if status else "no result"))

    def _drain_rest(self) -> None:
        """What is left in the pipe now that nobody writes to it."""
        if self._log_end < 0:
            return
        os.set_blocking(self._log_end, False)
        for data in iter(lambda: _read(self._log_end), b""):
            self._log += data
            del self._log[:-LOG_BYTES]

    def _release(self) -> None:
        if self._log_end >= 0:
            os.close(self._log_end)
        if self._channel is not None:
            self._channel.close()
        if self._child is not None:
            os.close(self._child.pidfd)


@contextlib.contextmanager
def _opened(folder: str | None) -> Iterator[dict[str, int]]:
    """Descriptors of a folder's arrays: the child may not be able to reach the files."""
    with contextlib.ExitStack() as stack:
        files = {} if folder is None else task.array_files(Path(folder))
        yield {
            name: stack.enter_context(path.open("rb", buffering=0)).fileno()
            for name, path in files.items()
        }


def _received(channel: socket.socket, flags: int = 0) -> bytes | None:
    """What there is to receive; empty at the end of the stream, None where nothing came yet."""
    try:
        return channel.recv(1 if flags else RECEIVE, flags)
    except BlockingIOError:
        return None
    except ConnectionResetError:
        return b""


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, LOG_BYTES)
    except BlockingIOError:
        return b""


def _raised(message: Message) -> End:
    """The end that the child made of an exception of the code under test."""
    match message.header:
        case {"outcome": "error" | "memory" as outcome, "reason": str(name), "error": str(text)}:
            return End(outcome, task.told(name), task.told(text))
    raise MalformedError("an error without name and text")
