"""What each limit rests on, in words, and what is missing to have a stronger means."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.sandbox import cgroups


@dataclass(frozen=True)
class Holding:
    """One limit as it is held here.

    Attributes:
        limit: Its name in a row's ``enforced``, or ``wall``.
        means: What it rests on.
        weakness: What this means lets pass; None where nothing is stronger.
        missing: What has to be there for the stronger one; None where it is in force.
    """

    limit: str
    means: str
    weakness: str | None = None
    missing: str | None = None


@dataclass(frozen=True)
class Controller:
    """Where groups of one controller could be made.

    Attributes:
        version: 1 or 2.
        folder: The group below which they would be made.
        given: Whether groups made there get the controller (version 2: somebody passes it on).
        writable: Whether this user may make groups there.
    """

    version: int
    folder: str
    given: bool
    writable: bool


@dataclass(frozen=True)
class Surroundings:
    """What decides on the means that a process can have.

    Attributes:
        root: Whether it has root's rights.
        controllers: By name; those that aren't mounted anywhere are missing.
        bubblewrap: Whether the program is there.
    """

    root: bool
    controllers: Mapping[str, Controller]
    bubblewrap: bool


@dataclass(frozen=True)
class _Stronger:
    """A limit's strongest means, the controller it needs (None: namespaces), and what each weaker
    one lets pass."""

    strongest: tuple[str, ...]
    controller: str | None
    weaknesses: Mapping[str, str]


_GROUPS_V1_V2 = ("cgroup-v1", "cgroup-v2")

_STRONGER = {
    "memory": _Stronger(
        _GROUPS_V1_V2,
        "memory",
        {"rlimit+watchdog": "a peak between two looks passes, as do files in shared memory"},
    ),
    "cpu": _Stronger(("cpuset",), "cpuset", {"affinity": "code can widen its affinity again"}),
    "kill": _Stronger(
        ("cgroup.kill", "freezer", "pid-namespace"),
        "freezer",
        {"subreaper": "processes are looked for one by one, slower than some can fork"},
    ),
    "cpu_time": _Stronger(
        _GROUPS_V1_V2,
        "cpuacct",
        {"procfs": "what a process used between the last look and its end may count late"},
    ),
    "processes": _Stronger(
        _GROUPS_V1_V2,
        "pids",
        {
            "watchdog": "a crowd that comes and goes between two looks passes",
            "rlimit+watchdog": "it counts a user's processes, not a tree's",
        },
    ),
    "shared_memory": _Stronger(
        ("namespaces",), None, {"none": "segments are seen by others and are cleared up later"}
    ),
    "groups": _Stronger(
        ("read-only", "hidden"),
        None,
        {"none": "code with root's rights could move its processes out"},
    ),
}

_NAMESPACES = (
    "namespaces of one's own: root's rights, or user namespaces (kernel.unprivileged_userns_clone "
    "= 1, user.max_user_namespaces > 0, kernel.apparmor_restrict_unprivileged_userns = 0)"
)


def explain(enforced: Mapping[str, str], surroundings: Surroundings) -> tuple[Holding, ...]:
    """Each limit with its means, what that lets pass, and what a stronger one needs.

    Args:
        enforced: As ``Means.enforced`` tells it.
        surroundings: Of the process that the means were found for.
    """
    # The wall clock is always the owner's own.
    held = {"wall": "clock", **enforced}
    return tuple(_holding(limit, means, surroundings) for limit, means in held.items())


def _holding(limit: str, means: str, surroundings: Surroundings) -> Holding:
    stronger = _STRONGER.get(limit)
    if stronger is None or means in stronger.strongest:
        return Holding(limit, means)
    name = stronger.controller
    missing = _NAMESPACES if name is None else missing_group(name, surroundings)
    return Holding(limit, means, stronger.weaknesses.get(means), missing)


def missing_confinement(complaints: Mapping[str, Sequence[str]], surroundings: Surroundings) -> str:
    """Why somebody else's code can't be confined here, and what would change that.

    Args:
        complaints: What was wrong with each way that was tried.
        surroundings: Of the process that tried.
    """
    tried = "; ".join(f"{way}: {', '.join(wrong)}" for way, wrong in complaints.items())
    program = "" if surroundings.bubblewrap else "bubblewrap (package bubblewrap), or "
    return f"{tried}. It needs {program}{_NAMESPACES}"


def missing_group(name: str, surroundings: Surroundings) -> str:
    """Why no group of a controller limits anything here, and what would change that."""
    controller = surroundings.controllers.get(name)
    if controller is None:
        return (
            f"no control group with the {name} controller is mounted; in a container the host's "
            "/sys/fs/cgroup has to be mounted writable"
        )
    if controller.version == 2 and not (controller.given and controller.writable):
        return _not_delegated(name, controller, surroundings.root)
    if not controller.writable:
        return (
            f"{controller.folder} belongs to somebody else: start as root, or let root make a "
            "group below it, give it to this user (chown -R) and start this there"
        )
    return (
        f"groups of the {name} controller can be made in {controller.folder}, but the trial shows "
        "that they don't limit: a container's runtime may have fixed what they say"
    )


def _not_delegated(name: str, controller: Controller, root: bool) -> str:
    if root:
        return (
            f"no group at or above {controller.folder} passes the {name} controller on: write "
            f"+{name} to its cgroup.subtree_control"
        )
    return (
        f"the {name} controller (version 2) isn't delegated to this user: start with "
        "`systemd-run --user --scope`, after root has put Delegate=cpu cpuset memory pids into a "
        "drop-in of user@.service"
    )


def surroundings() -> Surroundings:
    """Those of this process."""
    own = cgroups.own_bases()
    names = ("memory", "cpuset", "pids", "freezer", "cpuacct")
    found = {name: _controller(name, own) for name in names}
    return Surroundings(
        root=os.geteuid() == 0,
        controllers={name: place for name, place in found.items() if place is not None},
        bubblewrap=shutil.which("bwrap") is not None,
    )


def _controller(name: str, own: Mapping[str, cgroups.Base]) -> Controller | None:
    """Version 1 first: a controller that is mounted there is in no version 2 group."""
    base = own.get(name)
    if base is not None:
        return Controller(1, str(base.folder), True, os.access(base.folder, os.W_OK))
    unified = own.get("unified")
    if unified is None:
        return None
    if name in ("freezer", "cpuacct"):
        # Every version 2 group can be killed at once and counts its time.
        return Controller(2, str(unified.folder), True, os.access(unified.folder, os.W_OK))
    if name not in _all_of(unified.root):
        return None
    home = cgroups.distributing(unified, {name})
    folder = (home or unified).folder
    return Controller(2, str(folder), home is not None, os.access(folder, os.W_OK))


def _all_of(root: Path) -> list[str]:
    """The controllers that a version 2 hierarchy has."""
    try:
        return (root / "cgroup.controllers").read_text().split()
    except OSError:
        return []
