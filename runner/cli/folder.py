"""Which results a command means when none are named."""

from __future__ import annotations

from pathlib import Path

from runner.errors import InputError

RESULTS = Path("results")


def results_folder(given: Path | None) -> Path:
    """The folder given, else the only store below results/.

    Raises:
        InputError: There is none, or there are several to choose from.
    """
    if given is not None:
        return given
    stores = sorted(path.parent for path in RESULTS.glob("*/attempts"))
    if len(stores) == 1:
        return stores[0]
    if not stores:
        raise InputError("there are no results below results/; name their folder with --results")
    names = ", ".join(map(str, stores))
    raise InputError(f"there are several results ({names}); name one with --results")
