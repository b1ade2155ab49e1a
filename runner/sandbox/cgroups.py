"""Control groups: where this process may make its own, and what is done with one."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from runner.sandbox import procfs

CONTROLLERS_V1 = ("memory", "cpuset", "cpu", "cpuacct", "freezer", "pids")
FREEZE_SECONDS = 1.0


@dataclass(frozen=True)
class Base:
    """The group below which ours are made.

    Attributes:
        version: 1 or 2.
        controller: What it controls; ``unified`` in version 2.
        folder: The group's own.
        root: Where its hierarchy is mounted.
    """

    version: int
    controller: str
    folder: Path
    root: Path


def bases(mountinfo: str, membership: str) -> dict[str, Base]:
    """The groups this process is in, by controller (version 2's: ``unified``).

    Args:
        mountinfo: Text of /proc/self/mountinfo.
        membership: Text of /proc/self/cgroup.
    """
    mounts = _mounts(mountinfo)
    found = {}
    for line in membership.splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(",") if names else ["unified"]:
            if name in mounts:
                root, inside = mounts[name]
                # In a container the mount shows a subtree; the path may be told from its top.
                relative = path[len(inside) :] if path.startswith(inside) else path
                version = 2 if name == "unified" else 1
                found[name] = Base(version, name, root / relative.lstrip("/"), root)
    return found


def own_bases() -> dict[str, Base]:
    """``bases`` of this process."""
    return bases(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())


def _mounts(mountinfo: str) -> dict[str, tuple[Path, str]]:
    """Mount point and the hierarchy's folder shown there, by controller."""
    mounts = {}
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        inside, point = before.split()[3:5]
        kind, _, options = after.split(maxsplit=2)
        inside = "" if inside == "/" else inside
        if kind == "cgroup2":
            mounts["unified"] = (Path(point), inside)
        elif kind == "cgroup":
            for controller in CONTROLLERS_V1:
                if controller in options.split(","):
                    mounts[controller] = (Path(point), inside)
    return mounts


def distributing(base: Base, controllers: set[str]) -> Base | None:
    """The nearest group at or above ``base`` (version 2) that gives its children ``controllers``.

    A group with processes of its own can't pass controllers on, so ours are made beside the
    owner's own group where that one is a leaf. None where no group above gives them.
    """
    folder = base.folder
    while folder == base.root or base.root in folder.parents:
        with contextlib.suppress(OSError):
            if controllers <= set((folder / "cgroup.subtree_control").read_text().split()):
                return Base(2, base.controller, folder, base.root)
        folder = folder.parent
    return None


def given(base: Base) -> set[str]:
    """The controllers that a group (version 2) gives its children."""
    return set((base.folder / "cgroup.subtree_control").read_text().split())


@dataclass(frozen=True)
class Group:
    """One control group of ours."""

    folder: Path
    version: int

    @classmethod
    def make(cls, base: Base, name: str) -> Group:
        """A new group below ``base``.

        Raises:
            OSError: It can't be made here.
        """
        group = cls(base.folder / name, base.version)
        group.folder.mkdir()
        if base.controller == "cpuset":
            # A new cpuset has no cores and no memory, and takes no process before it has both.
            try:
                for file in ("cpuset.cpus", "cpuset.mems"):
                    group.write(file, (base.folder / file).read_text().strip())
            except OSError:
                group.remove()
                raise
        return group

    def write(self, file: str, value: int | str) -> None:
        """Raises OSError where the kernel refuses."""
        descriptor = os.open(self.folder / file, os.O_WRONLY)
        try:
            os.write(descriptor, str(value).encode())
        finally:
            os.close(descriptor)

    def has(self, file: str) -> bool:
        return (self.folder / file).exists()

    def number(self, file: str) -> int:
        return int((self.folder / file).read_text())

    def table(self, file: str) -> dict[str, int]:
        """A file of ``name number`` lines."""
        lines = (line.split() for line in (self.folder / file).read_text().splitlines())
        return {line[0]: int(line[1]) for line in lines}

    def door(self) -> int:
        """A descriptor through which a process that writes "0" joins the group.

        The owner opens it, so the child needs no rights of its own. In version 1 this is the
        file of threads: a single thread that moves itself needs no lock on all of the machine's
        forks, whose grace period takes 10 ms (.04 ms without).
        """
        file = "tasks" if self.version == 1 else "cgroup.procs"
        return os.open(self.folder / file, os.O_WRONLY | os.O_CLOEXEC)

    def holds(self, pid: int) -> bool:
        """Whether the process is in this very group."""
        return str(pid) in (self.folder / "cgroup.procs").read_text().split()

    def pids(self) -> list[int]:
        """The processes in it and below it that still live."""
        found: list[int] = []
        for folder, _, _ in os.walk(self.folder):
            with contextlib.suppress(OSError):
                text = (Path(folder) / "cgroup.procs").read_text()
                found += [int(pid) for pid in text.split()]
        return found

    def kill(self) -> None:
        """SIGKILL for all of it at once, by the means that this hierarchy has."""
        if self.has("cgroup.kill"):
            self.write("cgroup.kill", 1)
        elif self.has("freezer.state"):
            self._kill_frozen()
        else:
            for pid in self.pids():
                procfs.kill(pid)

    def _kill_frozen(self) -> None:
        """Nothing forks while it is frozen, so no process escapes between look and kill."""
        others = self.pids()
        if len(others) > 1:
            self.write("freezer.state", "FROZEN")
            give_up = time.monotonic() + FREEZE_SECONDS
            while (self.folder / "freezer.state").read_text().strip() != "FROZEN":
                if time.monotonic() > give_up:
                    break
                time.sleep(0.0005)
            others = self.pids()
        for pid in others:
            procfs.kill(pid)
        self.write("freezer.state", "THAWED")

    def remove(self) -> bool:
        """Remove the folder and any below it; False where processes hold it still."""
        return remove_folder(self.folder)


def remove_folder(folder: Path) -> bool:
    """Remove a group and those below it; False where one isn't empty or isn't ours."""
    for inner, _, _ in os.walk(folder, topdown=False):
        try:
            os.rmdir(inner)
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return True


def clear(folder: Path) -> None:
    """Kill what lives in a group that nobody owns any more, and remove it."""
    with contextlib.suppress(OSError):
        group = Group(folder, 2 if (folder / "cgroup.events").exists() else 1)
        give_up = time.monotonic() + FREEZE_SECONDS
        while group.pids() and time.monotonic() < give_up:
            group.kill()
            time.sleep(0.001)
        group.remove()
