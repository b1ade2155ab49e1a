"""Lists of names in messages."""

from __future__ import annotations

from collections.abc import Sequence

_LISTED = 8


def shortened(names: Sequence[str]) -> str:
    """Names for a line, only the first ones of many."""
    rest = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")
