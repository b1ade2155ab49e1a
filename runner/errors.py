"""What goes wrong before or around a study, each with the exit status it ends a command with."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

_LISTED = 12


class RunnerError(Exception):
    """A failure that is told in one line.

    Args:
        message: What is wrong and what would be right.
        file: The file it stands in, where there is one.
        line: The line in that file, counted from 1.
    """

    exit_status = 2

    def __init__(self, message: str, *, file: str | Path | None = None, line: int | None = None):
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}:"
        if place and self.line is not None:
            place += f"{self.line}:"
        return f"{place} {self.message}" if place else self.message


class InputError(RunnerError):
    """Wrong usage or input: exit status 2."""


class CannotRunError(RunnerError):
    """No verdict can be given, as on a machine too small for what was asked: exit status 3."""

    exit_status = 3


def suggestion(name: str, valid: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest valid one, or which there are."""
    names = list(valid)
    folded = {candidate.casefold(): candidate for candidate in reversed(names)}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    if not names:
        return "there is none"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return "the choice is " + ", ".join(repr(candidate) for candidate in names[:_LISTED]) + more
