"""Clears what drivers and slots that were killed left on this machine."""

from __future__ import annotations

import tempfile
from pathlib import Path

from runner.engine.claims import Claim, new_claim, sweep_claims
from runner.engine.node_arrays import sweep_arrays
from runner.sandbox import sweep_leftovers

_PREFIX = "runner-driver-"

_SHORT = 20
"""Ray's sockets lie 60 characters below the driver's folder, and a socket's path has 107."""


def driver_folder() -> Claim:
    """A new folder for what goes with this driver."""
    return new_claim(_base(), _PREFIX)


def sweep_node() -> None:
    """Remove folders, shared files, groups and processes whose owners are dead."""
    sweep_claims(_base(), _PREFIX)
    sweep_arrays()
    sweep_leftovers()


def _base() -> Path:
    base = Path(tempfile.gettempdir())
    return base if len(str(base)) <= _SHORT else Path("/tmp")
