"""Functions that the tests run inside a sandbox: well-behaved, greedy, hanging and hostile ones."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from runner.sandbox import Report

Arrays = dict[str, np.ndarray]
MIB = 1 << 20


def nothing(arrays: Arrays, argument: Any, report: Report) -> None:
    report.record(0, {})


def echo(arrays: Arrays, argument: Any, report: Report) -> None:
    """One record with the argument as its fields and the arrays as its predictions."""
    report.record(0, argument, {name: np.array(array) for name, array in arrays.items()})


def random_numbers(arrays: Arrays, argument: Any, report: Report) -> None:
    report.record(0, {"python": random.random(), "numpy": float(np.random.random())})


def surroundings(arrays: Arrays, argument: Any, report: Report) -> None:
    Path("left-behind").write_text("x")
    report.record(
        0,
        {
            "cores": len(os.sched_getaffinity(0)),
            "threads": os.environ["OMP_NUM_THREADS"],
            "folder": os.getcwd(),
        },
    )


def warm(argument: Any) -> None:
    print("warming up")
    time.sleep(1.2)


def failing_warm_up(argument: Any) -> None:
    raise LookupError("no such toy")


called_before_forking: list[int] = []


def note_call() -> None:
    called_before_forking.append(os.getpid())


def tell_calls(arrays: Arrays, argument: Any, report: Report) -> None:
    report.record(0, {"calls": len(called_before_forking), "pid": called_before_forking[0]})


def endless_warm_up(argument: Any) -> None:
    while True:
        pass


def leaving_warm_up(argument: Any) -> None:
    os._exit(3)


def recorded_then(arrays: Arrays, argument: tuple[str, Any], report: Report) -> None:
    """Evaluation 0 is recorded, then the function that the argument names misbehaves."""
    name, rest = argument
    report.checkpoint(0)
    report.record(0, {"score": 0.5})
    misbehaviour: Callable[[Any], None] = globals()[name]
    misbehaviour(rest)


def scoring(arrays: Arrays, argument: list[tuple[float, float]], report: Report) -> None:
    """Evaluations that fit and score for as long as the argument says."""
    for index, (fit, score) in enumerate(argument):
        time.sleep(fit)
        report.checkpoint(index)
        time.sleep(score)
        report.record(index, {})


def sparing(arrays: Arrays, argument: list[tuple[float, float]], report: Report) -> None:
    """Evaluations that come after so many seconds, of which so many aren't theirs."""
    for index, (fit, others) in enumerate(argument):
        report.spare(others)
        time.sleep(fit)
        report.checkpoint(index)
        report.record(index, {})


def sum_file(arrays: Arrays, argument: str, report: Report) -> None:
    with open(argument, "rb") as file:
        size = sum(len(block) for block in iter(lambda: file.read(MIB), b""))
    report.record(0, {"size": size})


def touch(arrays: Arrays, mebibytes: int, report: Report) -> None:
    hog = np.ones(mebibytes * MIB, np.uint8)
    # A watchdog samples the peak.
    time.sleep(0.1)
    report.record(0, {"sum": int(hog[::4096].sum())})


def spin(arrays: Arrays, seconds: float, report: Report) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    report.record(0, {})


# What recorded_then calls.


def allocate(mebibytes: int) -> None:
    blocks = [np.ones(MIB, np.uint8) for _ in range(mebibytes)]
    time.sleep(0.5)
    del blocks


def allocate_jointly(mebibytes: int) -> None:
    """Two children that only together hold too much."""
    children = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            allocate(mebibytes)
            os._exit(0)
        children.append(pid)
    for pid in children:
        if os.waitpid(pid, 0)[1] != 0:
            raise RuntimeError("a child was killed")


def fill_shared_memory(mebibytes: int) -> None:
    shared = mmap.mmap(-1, mebibytes * MIB)
    for offset in range(0, mebibytes * MIB, 4096):
        shared[offset] = 1
    time.sleep(0.5)


def fill_shared_file(mebibytes: int) -> None:
    with open(f"/dev/shm/test-sandbox-{os.getpid()}", "wb") as file:
        os.unlink(file.name)
        for _ in range(mebibytes):
            file.write(b"x" * MIB)
        time.sleep(0.5)


def ask_for_the_impossible(argument: Any) -> None:
    np.empty(1 << 60, np.uint8)


def ignore_signals_and_sleep(seconds: float) -> None:
    for number in range(1, signal.NSIG):
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)
    time.sleep(seconds)


def daemonise(argument: Any) -> None:
    """Five daemons, each twice removed and in a session of its own."""
    for _ in range(5):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(60)
            os._exit(0)


def daemonise_and_hang(argument: Any) -> None:
    daemonise(argument)
    time.sleep(60)


def fork_again_and_again(argument: Any) -> None:
    """A chain whose every process ends as soon as it has forked the next."""
    if os.fork() == 0:
        os.setsid()
        while os.fork() == 0:
            pass
        os._exit(0)
    time.sleep(60)


def fork_a_crowd(count: int) -> None:
    for _ in range(count):
        if os.fork() == 0:
            time.sleep(60)
    time.sleep(60)


def segfault(argument: Any) -> None:
    ctypes.string_at(0)


def leave(status: int) -> None:
    os._exit(status)


def leave_politely(status: int) -> None:
    sys.exit(status)


def fail(text: str) -> None:
    raise ValueError(text)


def return_early(argument: Any) -> None:
    pass


def speak_and_die(text: str) -> None:
    print(text)
    os.kill(os.getpid(), signal.SIGKILL)


def flood(mebibytes: int) -> None:
    block = b"f" * MIB
    for _ in range(mebibytes):
        os.write(1, block)
    os.write(2, b"the last words\n")
    raise RuntimeError("flooded")


def forge(data: bytes) -> None:
    """Write ``data`` to whatever socket is open: the channel to the owner."""
    for descriptor in range(3, 64):
        try:
            channel = socket.socket(fileno=os.dup(descriptor))
        except OSError:
            continue
        channel.sendall(data)
    time.sleep(60)


def kill_the_zygote(argument: Any) -> None:
    daemonise(argument)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


def kill_the_zygote_unmarked(duration: str) -> None:
    """As ``kill_the_zygote``, with daemons that nothing tells as ours any more."""
    for _ in range(5):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execve("/usr/bin/sleep", ["sleep", duration], {})
            os._exit(0)
    time.sleep(0.2)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


# What the trials run; see test_trials.py.


def catch_memory_errors(argument: Any) -> None:
    """Takes all it can get, and goes on when there is no more."""
    blocks = []
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            blocks.append(np.ones(8 * MIB, np.uint8))
        except MemoryError:
            blocks = blocks[:-2]


def write_and_sum_file(arrays: Arrays, mebibytes: int, report: Report) -> None:
    with open("large", "wb") as file:
        for _ in range(mebibytes):
            file.write(b"x" * MIB)
    sum_file(arrays, "large", report)


def fork_exponentially(argument: Any) -> None:
    """Doubles as often as it can; nothing of it lives longer than some seconds."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            os.fork()


def start_threads(count: int) -> None:
    for _ in range(count):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    time.sleep(60)


def spin_everywhere(arrays: Arrays, processes: int, report: Report) -> None:
    """Several processes that spin for a second, on every core that they can get."""
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    children = []
    for _ in range(processes):
        pid = os.fork()
        if pid == 0:
            end = time.monotonic() + 1
            while time.monotonic() < end:
                pass
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    report.record(0, {"cores": len(os.sched_getaffinity(0))})


def leave_groups(arrays: Arrays, argument: tuple[int, list[str]], report: Report) -> None:
    """Tries to move itself to its owner's groups, by every way to their files that it knows."""
    owner, folders = argument
    libc = ctypes.CDLL(None)
    libc.mount(None, b"/sys/fs/cgroup", None, ctypes.c_ulong(0x1020), None)
    left = 0
    for root in ("", f"/proc/{owner}/root", f"/proc/{os.getppid()}/root", "/proc/1/root"):
        for folder in folders:
            with contextlib.suppress(OSError):
                Path(f"{root}{folder}/cgroup.procs").write_text(str(os.getpid()))
                left += 1
    report.record(0, {"left": left})


def look_around(arrays: Arrays, argument: tuple[int, list[str]], report: Report) -> None:
    """Counts what it shouldn't reach: a server, places to write to, secrets, other processes."""
    port, places = argument
    Path("own").write_text("x")
    reached = 0
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), 1).close()
        reached += 1
    written = []
    for place in ["/", "/etc", "/usr", "/dev", "/var/tmp", sys.prefix, *places]:
        with contextlib.suppress(OSError):
            Path(place, f"runner-test-{os.getpid()}").write_text("x")
            Path(place, f"runner-test-{os.getpid()}").unlink()
            written.append(place)
    secrets = []
    for secret in ["/etc/shadow", "/etc/passwd", "/root/.bashrc", "/sys", *places]:
        with contextlib.suppress(OSError):
            os.stat(secret)
            secrets.append(secret)
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    report.record(
        0,
        {
            "network": reached,
            "written": ",".join(written),
            "secrets": ",".join(secrets),
            "processes": len(pids),
            "user": os.getuid(),
            "environment": "SECRET_OF_THE_OWNER" in os.environ,
        },
    )


def kill_others(arrays: Arrays, owner: int, report: Report) -> None:
    killed = 0
    for pid in [owner, *range(owner - 3, owner)]:
        with contextlib.suppress(OSError):
            os.kill(pid, 0)
            killed += pid == owner
    report.record(0, {"killed": killed})


def trace_the_parent(arrays: Arrays, argument: Any, report: Report) -> None:
    """Tries to look into the zygote's memory."""
    opened = 0
    with contextlib.suppress(OSError):
        os.close(os.open(f"/proc/{os.getppid()}/mem", os.O_RDWR))
        opened = 1
    report.record(0, {"opened": opened})


def write_to_arrays(arrays: Arrays, argument: Any, report: Report) -> None:
    """Tries to change an array through every way to its file."""
    changed = 0
    with contextlib.suppress(ValueError):
        arrays["x"][0] = 9
        changed += 1
    with contextlib.suppress(ValueError):
        arrays["x"].flags.writeable = True
        changed += 1
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{descriptor}")
            if target.endswith(".npy"):
                changed += 1
    report.record(0, {"changed": changed, "first": float(arrays["x"][0])})


def leave_shared_memory(arrays: Arrays, name: str, report: Report) -> None:
    """A file, a System V segment and a semaphore that outlive their maker."""
    with contextlib.suppress(OSError):
        Path("/dev/shm", name).write_bytes(b"x" * MIB)
    libc = ctypes.CDLL(None)
    libc.shmget(0x52554E, ctypes.c_size_t(MIB), 0o1600)
    libc.semget(0x52554E, 1, 0o1600)
    report.record(0, {"left": len(Path("/proc/sysvipc/shm").read_text().splitlines()) - 1})


def shared_memory_left(arrays: Arrays, argument: Any, report: Report) -> None:
    left = len(os.listdir("/dev/shm"))
    for kind in ("shm", "sem"):
        left += len(Path("/proc/sysvipc", kind).read_text().splitlines()) - 1
    report.record(0, {"left": left})


def write_a_large_file(mebibytes: int) -> None:
    with open("large", "wb") as file:
        for _ in range(mebibytes):
            file.write(b"x" * MIB)
            file.flush()


def open_many_files(arrays: Arrays, count: int, report: Report) -> None:
    files = []
    opened = 0
    for _ in range(count):
        try:
            files.append(open(os.devnull))  # noqa: SIM115
        except OSError:
            break
        opened += 1
    report.record(0, {"opened": opened})


def burn(processes: int) -> None:
    """Uses as much of the processors as it gets, in several processes."""
    for _ in range(processes - 1):
        if os.fork() == 0:
            break
    end = time.monotonic() + 30
    while time.monotonic() < end:
        pass


def boost(arrays: Arrays, jobs: list[int], report: Report) -> None:
    """For each number of threads the least processor time of three fits."""
    import lightgbm

    generator = np.random.default_rng(0)
    rows = generator.normal(size=(2000, 20))
    labels = (rows[:, 0] > 0).astype(int)
    least = {}
    for threads in jobs:
        used = []
        for _ in range(3):
            start = time.process_time()
            lightgbm.LGBMClassifier(n_estimators=50, n_jobs=threads, verbose=-1).fit(rows, labels)
            used.append(time.process_time() - start)
        least[str(threads)] = min(used)
    report.record(0, least)
