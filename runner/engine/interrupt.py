"""Stopping a run from outside it: Ctrl-C, SIGTERM, or an error that no trial may outlast."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_AGAIN_SECONDS = 0.1


class Halt(BaseException):
    """Ends Tune's loop at once.

    Not an Exception: on one, Tune would first wait for the running trials.

    Args:
        error: What the run ends with; None for an interruption.
    """

    def __init__(self, error: Exception | None = None):
        super().__init__(str(error))
        self.error = error


class Interruption:
    """Takes SIGINT and SIGTERM while it is entered; a second one changes nothing.

    Outside the main thread, where signals don't arrive, it does nothing.

    Attributes:
        asked: Whether a signal has come.
    """

    def __init__(self) -> None:
        self.asked = False
        self._at_once = False
        self._before: dict[int, Any] = {}
        self._tell_unraisable = sys.unraisablehook

    def __enter__(self) -> Interruption:
        self._before = self._install()
        self._tell_unraisable, sys.unraisablehook = sys.unraisablehook, self._swallowed
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        sys.unraisablehook = self._tell_unraisable

    def insist(self) -> None:
        """Take the signals again: Ray, when it starts, puts handlers of its own in their place."""
        self._install()

    def check(self) -> None:
        """Stop the run if a signal has come.

        Raises:
            Halt: One has.
        """
        if self.asked:
            raise Halt

    def at_once(self, yes: bool) -> None:
        """Whether a signal stops whatever runs, or waits for the next ``check``."""
        self._at_once = yes
        if yes:
            self.check()

    def _install(self) -> dict[int, Any]:
        if threading.current_thread() is not threading.main_thread():
            return {}
        return {number: signal.signal(number, self._take) for number in _SIGNALS}

    def _take(self, number: int, frame: FrameType | None) -> None:
        first, self.asked = not self.asked, True
        if first and self._at_once:
            raise Halt

    def _swallowed(self, unraisable: sys.UnraisableHookArgs) -> None:
        """Stop a little later where the signal came within a destructor or a callback from C.

        An exception ends there, and would be told as a fault.
        """
        if unraisable.exc_type is not Halt:
            self._tell_unraisable(unraisable)
            return
        timer = threading.Timer(_AGAIN_SECONDS, self._again)
        timer.daemon = True
        timer.start()

    def _again(self) -> None:
        if self._at_once:
            self.asked = False
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
