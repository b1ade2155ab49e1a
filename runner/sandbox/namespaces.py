"""What a zygote leaves behind before it imports anything: views of the machine it isn't to have.

This module stands alone and is loaded by its path: a process with threads can't enter a user
namespace, and the libraries that the package imports start threads.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

NEW_MOUNT, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000
NOBODY = 65534

_NOSUID, _NODEV, _NOEXEC, _BIND, _RECURSIVE = 0x2, 0x4, 0x8, 0x1000, 0x4000
_PRIVATE, _SLAVE = 1 << 18, 1 << 19
_DETACH = 2
_MOUNT_SETATTR = 442
_AT_RECURSIVE, _CURRENT_FOLDER = 0x8000, -100
_ATTR_READ_ONLY, _ATTR_NOSUID = 0x1, 0x2
_CAPABILITY_VERSION = 0x20080522
_PTRACE, _ADMIN = 19, 21
_DEATH_SIGNAL, _DUMPABLE, _DROP_BOUND, _NO_NEW_PRIVILEGES = 1, 4, 24, 38

SHARED_MEMORY = "/dev/shm"
DEVICES = ("null", "zero", "full", "random", "urandom")

_libc = ctypes.CDLL(None, use_errno=True)


def enter(view: Mapping[str, Any]) -> None:
    """Enter what ``view["kind"]`` names.

    Args:
        view: ``kind`` and the arguments of the function of this module that it names.

    Raises:
        OSError: The kernel refuses.
    """
    kinds: dict[str, Callable[..., None]] = {
        "none": lambda: None,
        "private": private,
        "jail": jail,
        "inside": become,
    }
    arguments = dict(view)
    kinds[arguments.pop("kind")](**arguments)


def private(user: bool, processes: bool, owner: int) -> None:
    """Have shared memory of one's own, SysV's too, and control groups that can't be written.

    Args:
        user: Do it in a user namespace, as one without rights has to.
        processes: Be the first of processes that see no others and end with this one. The one
            that calls this then stays outside.
        owner: Process id of the parent, with which it ends.
    """
    flags = NEW_MOUNT | NEW_IPC | (NEW_PID if processes else 0)
    _unshare(flags, user, os.getuid(), os.getgid())
    _mount(None, "/", None, _RECURSIVE | _SLAVE)
    _mount("tmpfs", SHARED_MEMORY, "tmpfs", _NOSUID | _NODEV, "mode=1777")
    with contextlib.suppress(OSError):
        _set_attributes("/sys/fs/cgroup", _ATTR_READ_ONLY, recursive=True)
    if processes:
        _first_of_its_processes(owner)
        _mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    if user:
        _drop_all()
        dumpable(True)
    else:
        # With these what is read-only could be made writable, or reached through the owner.
        _drop((_PTRACE, _ADMIN))


def jail(
    readable: Sequence[str],
    folder: str,
    shared_memory: int,
    uid: int | None,
    gid: int | None,
    owner: int,
) -> None:
    """Be the first process of a view that holds nothing but some files; needs no other program.

    The process that calls this stays outside and ends with the one that goes on.

    Args:
        readable: Files and folders to see, read-only, at their own places.
        folder: The one to write to; its place outside serves as the new root.
        shared_memory: Bytes that fit in /dev/shm.
        uid: Whom to become; None: nobody in a user namespace.
        gid: The group's, with it.
        owner: Process id of the parent, with which it ends.
    """
    _unshare(NEW_MOUNT | NEW_PID | NEW_NET | NEW_IPC | NEW_UTS, uid is None, NOBODY, NOBODY)
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)
    own = os.open(folder, os.O_PATH)
    os.umask(0o022)
    _mount("tmpfs", folder, "tmpfs", _NOSUID | _NODEV, "mode=755")
    for path in readable:
        _show(path, folder + path)
    writable = _made(folder + folder, is_folder=True)
    # Not recursive: the new root lies on top of it.
    _mount(f"/proc/self/fd/{own}", writable, None, _BIND)
    _set_attributes(writable, _ATTR_NOSUID, recursive=False)
    os.close(own)
    for device in DEVICES:
        _bind(f"/dev/{device}", _made(f"{folder}/dev/{device}", is_folder=False))
    memory = _made(folder + SHARED_MEMORY, is_folder=True)
    _mount("tmpfs", memory, "tmpfs", _NOSUID | _NODEV, f"mode=1777,size={shared_memory}")
    _first_of_its_processes(owner)
    _mount("proc", _made(f"{folder}/proc", is_folder=True), "proc", _NOSUID | _NODEV | _NOEXEC)
    os.chdir(folder)
    _check(_libc.pivot_root(b".", b"."))
    _check(_libc.umount2(b".", _DETACH))
    os.chdir("/")
    _set_attributes("/", _ATTR_READ_ONLY, recursive=False)
    become(uid, gid)


def become(uid: int | None, gid: int | None) -> None:
    """Give up all rights, and become another user unless a namespace made that of us already."""
    if uid is not None and gid is not None:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    _drop_all()
    _check(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))


def dumpable(may: bool) -> None:
    """Whether other processes of this user may look into this one."""
    _check(_libc.prctl(_DUMPABLE, int(may), 0, 0, 0))


def _first_of_its_processes(owner: int) -> None:
    """Go on as process 1 of the new namespace; whoever called this ends with it."""
    reading, writing = os.pipe()
    _check(_libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0))
    if os.getppid() != owner:
        os._exit(1)
    pid = os.fork()
    if pid:
        # Whoever waits for the end of the others' channels isn't to wait for this process.
        os.closerange(3, writing)
        os.closerange(writing + 1, os.sysconf("SC_OPEN_MAX"))
        status = os.waitpid(pid, 0)[1]
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    os.close(writing)
    _check(_libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0))
    if select.select([reading], [], [], 0)[0]:
        os._exit(1)
    os.close(reading)


def _unshare(flags: int, user: bool, uid: int, gid: int) -> None:
    """Leave namespaces, as ``uid`` and ``gid`` in a new user namespace if ``user``."""
    outside_uid, outside_gid = os.getuid(), os.getgid()
    _check(_libc.unshare(flags | (NEW_USER if user else 0)))
    if user:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {outside_uid} 1")
        _write("/proc/self/gid_map", f"{gid} {outside_gid} 1")


def _show(path: str, target: str) -> None:
    if os.path.islink(path):
        os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
        os.symlink(os.readlink(path), target)
        return
    _bind(path, _made(target, is_folder=os.path.isdir(path)))
    _set_attributes(target, _ATTR_READ_ONLY | _ATTR_NOSUID, recursive=True)


def _made(target: str, *, is_folder: bool) -> str:
    os.makedirs(target if is_folder else os.path.dirname(target), mode=0o755, exist_ok=True)
    if not is_folder:
        os.close(os.open(target, os.O_CREAT, 0o644))
    return target


def _bind(source: str, target: str) -> None:
    _mount(source, target, None, _BIND | _RECURSIVE)


def _mount(
    source: str | None, target: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    encoded = [None if text is None else text.encode() for text in (source, target, kind, options)]
    place, where, what, how = encoded
    _check(_libc.mount(place, where, what, ctypes.c_ulong(flags), how))


def _set_attributes(target: str, attributes: int, *, recursive: bool) -> None:
    what = (ctypes.c_uint64 * 4)(attributes, 0, 0, 0)
    flags = _AT_RECURSIVE if recursive else 0
    _check(
        _libc.syscall(
            ctypes.c_long(_MOUNT_SETATTR),
            ctypes.c_int(_CURRENT_FOLDER),
            target.encode(),
            ctypes.c_uint(flags),
            what,
            ctypes.c_size_t(ctypes.sizeof(what)),
        )
    )


def _drop_all() -> None:
    _set_capabilities((ctypes.c_uint32 * 6)())


def _drop(capabilities: Sequence[int]) -> None:
    """Take these for good from this process and whatever it executes."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    data = (ctypes.c_uint32 * 6)()
    _check(_libc.capget(header, data))
    for capability in capabilities:
        # Effective, permitted, inheritable of the first 32.
        for place in range(3):
            data[place] &= ~(1 << capability) & 0xFFFFFFFF
        _check(_libc.prctl(_DROP_BOUND, capability, 0, 0, 0))
    _set_capabilities(data)


def _set_capabilities(data: ctypes.Array[ctypes.c_uint32]) -> None:
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _check(_libc.capset(header, data))


def _write(file: str, text: str) -> None:
    descriptor = os.open(file, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _check(returned: int) -> None:
    if returned != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
