"""How somebody else's code is confined: what it sees of the machine, and who makes it so.

Two ways lead to the same view: bubblewrap, or the namespaces that ``namespaces`` makes itself.
With root's rights the code runs as another user; without them in a user namespace.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import runner
from runner.sandbox import namespaces

Maker = Literal["bubblewrap", "namespaces"]

# A user that nothing else runs as, one for each owner, so that counts by user are its own.
_FIRST_USER = 0x70000000
_PROBE_SECONDS = 20.0

_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
)

# Looks for whatever should not be there; a descriptor of a listening socket's name is its argument.
_PROBE = """
import json, os, socket, sys
import importlib.util
config = json.loads(sys.argv[1])
spec = importlib.util.spec_from_file_location("namespaces", config["namespaces"])
namespaces = importlib.util.module_from_spec(spec)
spec.loader.exec_module(namespaces)
namespaces.enter(config["view"])
wrong = []
if len([entry for entry in os.listdir("/proc") if entry.isdigit()]) > 3:
    wrong.append("it sees other processes")
if os.access("/etc/shadow", os.F_OK):
    wrong.append("it sees the machine's files")
for folder in ("/", "/usr", "/dev", config["foreign"]):
    try:
        open(os.path.join(folder, "runner-probe"), "x").close()
    except OSError:
        continue
    wrong.append(f"it writes to {folder}")
    os.unlink(os.path.join(folder, "runner-probe"))
open(os.path.join(config["folder"], "written"), "x").close()
try:
    socket.create_connection(("127.0.0.1", config["port"]), 1).close()
    wrong.append("it has a network")
except OSError:
    pass
try:
    os.setuid(0)
    wrong.append("it becomes root")
except OSError:
    pass
print(json.dumps(wrong))
"""


@dataclass(frozen=True)
class Jail:
    """A way to confine somebody else's code.

    Attributes:
        maker: Who makes the view.
        uid: Whom the code runs as; None: this process's user, in a user namespace.
    """

    maker: Maker
    uid: int | None

    def enforced(self) -> dict[str, str]:
        """What it adds to a row of results."""
        return {
            "files": self.maker,
            "network": "net-namespace",
            "visibility": "pid-namespace",
            "shared_memory": "namespaces",
            "groups": "hidden",
            "user": "user-namespace" if self.uid is None else "uid",
        }

    def hand_over(self, folder: Path) -> None:
        """Let the code write to a folder."""
        if self.uid is not None:
            os.chown(folder, self.uid, self.uid)

    def command(self, folder: str, readable: Sequence[str], shared_memory: int) -> list[str]:
        """What stands before the command that is to run in the view; empty: nothing."""
        if self.maker == "namespaces":
            return []
        return _bubblewrap(self.uid, folder, seen(readable), shared_memory)

    def view(self, folder: str, readable: Sequence[str], shared_memory: int) -> dict[str, Any]:
        """What the command has to ``namespaces.enter`` before anything else."""
        user = {"uid": self.uid, "gid": self.uid}
        if self.maker == "bubblewrap":
            return {"kind": "inside", **user}
        return {
            "kind": "jail",
            "readable": seen(readable),
            "folder": folder,
            "shared_memory": shared_memory,
            "owner": os.getpid(),
            **user,
        }


def seen(readable: Sequence[str]) -> list[str]:
    """The system, this interpreter, this package and ``readable``: what the code can read.

    None of them lies below another one, since a place is bound once.
    """
    package = str(Path(runner.__file__).parent)
    wanted = [*_SYSTEM, sys.base_prefix, sys.prefix, package, *map(os.path.abspath, readable)]
    present = [path for path in dict.fromkeys(wanted) if os.path.lexists(path)]
    return [path for path in present if not any(_below(path, other) for other in present)]


def _below(path: str, other: str) -> bool:
    return path.startswith(other.rstrip("/") + "/")


def _bubblewrap(
    uid: int | None, folder: str, readable: Sequence[str], shared_memory: int
) -> list[str]:
    program = shutil.which("bwrap")
    assert program is not None
    command = [program, "--die-with-parent", "--chdir", "/", "--cap-drop", "ALL"]
    command += ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    if uid is None:
        nobody = str(namespaces.NOBODY)
        command += ["--unshare-user", "--uid", nobody, "--gid", nobody]
    else:
        command += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    for parent in _parents([*readable, folder]):
        # Those that bubblewrap makes by itself are closed to other users.
        command += ["--perms", "0755", "--dir", parent]
    for path in readable:
        link = os.path.islink(path)
        command += ["--symlink", os.readlink(path), path] if link else ["--ro-bind", path, path]
    command += ["--bind", folder, folder, "--proc", "/proc", "--dev", "/dev"]
    command += ["--perms", "1777", "--size", str(shared_memory)]
    command += ["--tmpfs", namespaces.SHARED_MEMORY]
    return [*command, "--remount-ro", "/dev", "--remount-ro", "/", "--"]


def _parents(paths: Sequence[str]) -> list[str]:
    found = {str(parent) for path in paths for parent in Path(path).parents}
    return sorted(found - {"/"})


@functools.cache
def probe() -> Jail | None:
    """The first way that works here, tried: its code looks for whatever it shouldn't see."""
    return next((jail for jail in candidates() if not failures(jail)), None)


def candidates() -> list[Jail]:
    """The ways there may be, the strongest first."""
    makers: list[Maker] = ["namespaces"] if shutil.which("bwrap") is None else []
    makers = makers or ["bubblewrap", "namespaces"]
    users = [_FIRST_USER + os.getpid(), None] if os.getuid() == 0 else [None]
    return [Jail(maker, uid) for uid in users for maker in makers]


def failures(jail: Jail) -> list[str]:
    """What code confined in this way can do though it shouldn't, or why it doesn't start."""
    import socket

    with (
        tempfile.TemporaryDirectory(prefix="runner-probe-") as own,
        tempfile.TemporaryDirectory(prefix="runner-probe-") as foreign,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        os.chmod(foreign, 0o777)
        jail.hand_over(Path(own))
        config = {
            "namespaces": namespaces.__file__,
            "view": jail.view(own, [], 1 << 20),
            "folder": own,
            "foreign": foreign,
            "port": server.getsockname()[1],
        }
        python = [sys.executable, "-I", "-S", "-c", _PROBE, json.dumps(config)]
        try:
            finished = subprocess.run(
                [*jail.command(own, [], 1 << 20), *python],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ["it doesn't end"]
        if finished.returncode != 0:
            lines = finished.stderr.strip().splitlines() or ["no word"]
            return [f"it doesn't start: {lines[-1]}"]
        wrong: list[str] = json.loads(finished.stdout)
        return wrong
