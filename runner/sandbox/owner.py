"""Names that tell whose a group, a folder or a process is, and the removal of what the dead left.

An owner is a process id with its start time, since ids come round again.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import tempfile
from pathlib import Path

from runner.sandbox import cgroups, procfs

MARK = "RUNNER_SANDBOX"
"""Environment variable of a zygote and all it forks: the sandbox's name."""

_NAME = re.compile(r"runner-(\d+)-(\d+)-\d+")
_numbers = itertools.count()


def new_name() -> str:
    """A name of this process that no other one has or had."""
    pid = os.getpid()
    return f"runner-{pid}-{procfs.start_time(pid)}-{next(_numbers)}"


def is_abandoned(name: str) -> bool:
    """Whether ``name`` is one of ours whose owner lives no more."""
    match = _NAME.fullmatch(name)
    return match is not None and procfs.start_time(int(match[1])) != int(match[2])


def sweep_leftovers(scratch: Path | None = None) -> None:
    """Remove the groups, processes and scratch folders of owners that died without doing so.

    Args:
        scratch: Where scratch folders lie; the system's temporary folder by default.
    """
    procfs.kill_marked(MARK, is_abandoned)
    for root in {base.root for base in cgroups.own_bases().values()}:
        for folder, names, _ in os.walk(root):
            for name in filter(is_abandoned, names):
                cgroups.clear(Path(folder) / name)
    for path in (scratch or Path(tempfile.gettempdir())).glob("runner-*"):
        if is_abandoned(path.name):
            shutil.rmtree(path, ignore_errors=True)
