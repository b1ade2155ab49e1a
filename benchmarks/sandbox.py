"""What a sandbox costs and how fast it ends things: ``python -m benchmarks.sandbox``.

Prints a table in Markdown, with BenchExec and a fresh interpreter beside it. When a work ended is
told by what it wrote last, not by who killed it.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import logging
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.endless import CROWD, Life
from benchmarks.machine import description
from runner.sandbox import Finding, Limits, Sandbox, Work
from runner.sweep.work import PRELOAD

Row = tuple[str, str, str, str, str]
"""What, ours, BenchExec's, a fresh interpreter's, the aim."""

_IMPORTS = f"import lightgbm, {', '.join(name.partition(':')[0] for name in PRELOAD)}"
_FRESH = [sys.executable, "-c", _IMPORTS]
_NOTHING = Work("benchmarks.work:sleep", pickle.dumps(0.0), 1)


class Ours:
    """Works in the sandbox of a sweep's slot."""

    def __init__(self, folder: Path):
        self._folder = folder
        core = min(os.sched_getaffinity(0))
        modules = (*PRELOAD, "lightgbm", "benchmarks.work", "benchmarks.endless")
        self._sandbox = Sandbox([core], preload=modules)

    def __enter__(self) -> Ours:
        self._sandbox.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._sandbox.close()

    def nothing(self) -> None:
        """An evaluation that does nothing."""
        self._run(_NOTHING, 60.0, "ok")

    def endless(self, name: str, seconds: float) -> tuple[Life, float]:
        """A work's life under a limit, and when the call returned."""
        file = self._folder / name
        argument = pickle.dumps((name, str(file)))
        self._run(Work("benchmarks.endless:work", argument, 1), seconds, "timeout")
        returned = time.monotonic()
        return Life.read(file), returned

    def _run(self, work: Work, seconds: float, expected: str) -> Finding:
        limits = Limits(cpus=1, memory=2 * 10**9, seconds=seconds)
        (finding,) = self._sandbox.run(work, limits).findings
        assert finding.outcome == expected, finding
        return finding


class BenchExec:
    """The same as commands, by BenchExec's own interface, without a start of ``runexec``."""

    def __init__(self, folder: Path):
        from benchexec.runexecutor import RunExecutor

        logging.disable(logging.CRITICAL)
        self._folder = folder
        self._executor = RunExecutor(use_namespaces=False)

    def nothing(self) -> None:
        """A command that does nothing."""
        result = self._run(["/bin/true"], 60.0)
        assert result["exitcode"].value == 0, result

    def fresh(self) -> None:
        """An interpreter that imports what a slot has at hand."""
        result = self._run(_FRESH, 60.0)
        assert result["exitcode"].value == 0, result

    def endless(self, name: str, seconds: float) -> tuple[Life, float]:
        """A command's life under a limit, and when the call returned.

        It has imported what a slot has at hand; BenchExec's clock starts before that.
        """
        file = self._folder / name
        program = f"{_IMPORTS}; from benchmarks import endless; endless.{name}({str(file)!r})"
        result = self._run([sys.executable, "-c", program], seconds)
        returned = time.monotonic()
        assert result["terminationreason"] == "walltime", result
        began = result["starttime"].timestamp() - time.time() + time.monotonic()
        return dataclasses.replace(Life.read(file), began=began), returned

    def _run(self, command: list[str], seconds: float) -> dict[str, Any]:
        limits = {"walltimelimit": seconds, "memlimit": 2 * 10**9}
        core = min(os.sched_getaffinity(0))
        log = str(self._folder / "log")
        result: dict[str, Any] = self._executor.execute_run(command, log, cores=[core], **limits)
        return result


def overhead(ours: Ours, theirs: BenchExec, repeats: int) -> list[Row]:
    """What an evaluation that does nothing costs."""
    few = max(repeats // 20, 3)
    ours.nothing()
    measured = _milliseconds(ours.nothing, repeats)
    commands = _milliseconds(theirs.nothing, few)
    imports = _milliseconds(theirs.fresh, max(few // 3, 2))
    fresh = _milliseconds(_fresh, few)
    return [
        (
            f"an evaluation that does nothing, median of {repeats}",
            _ms(np.median(measured)),
            f"{_ms(np.median(commands))} (`true`), {_ms(np.median(imports))} (the imports)",
            f"{_ms(np.median(fresh))} (the imports)",
            "at most 15 ms, a tenth of BenchExec's",
        ),
        (
            "the same, 99th percentile",
            _ms(np.quantile(measured, 0.99)),
            _ms(np.max(commands)) + " (the largest)",
            _ms(np.max(fresh)) + " (the largest)",
            "at most 60 ms",
        ),
    ]


def overshoot(ours: Ours, theirs: BenchExec, repeats: int) -> list[Row]:
    """How long a work that spins lives past its limit."""
    limit = 0.3
    late = [_overshoot(ours.endless("beat", limit)[0], limit) for _ in range(repeats)]
    longer = 20.0
    life, _ = theirs.endless("beat", longer)
    return [
        (
            f"life past the limit, median and largest of {repeats}",
            f"{_ms(np.median(late))}, {_ms(np.max(late))}",
            _ms(_overshoot(life, longer)),
            "",
            "at most 20 ms",
        )
    ]


def kill(ours: Ours, theirs: BenchExec, repeats: int, name: str, tree: str) -> list[Row]:
    """How long a tree of 200 processes lives past its limit, and when its result is there."""
    # Time enough for all of them to be there on a busy machine.
    limit, longer = 10.0, 30.0
    ends = [_end(*ours.endless(name, limit), limit) for _ in range(repeats)]
    their_ends = _end(*theirs.endless(name, longer), longer)
    return [
        (
            f"a tree of {tree}, from the limit to {what}, median and largest of {repeats}",
            f"{_ms(np.median(late))}, {_ms(np.max(late))}",
            _ms(their_late),
            "",
            "at most 50 ms",
        )
        for what, late, their_late in zip(
            ("the last sign of life", "its result, all gone"),
            zip(*ends, strict=True),
            their_ends,
            strict=True,
        )
    ]


def _end(life: Life, returned: float, limit: float) -> tuple[float, float]:
    """Milliseconds from the limit to the last sign of life, and to the return of the call."""
    assert life.processes == CROWD, f"the limit came when {life.processes} processes were there"
    return _overshoot(life, limit), 1000 * (returned - life.began - limit)


def _overshoot(life: Life, limit: float) -> float:
    return 1000 * (life.last - life.began - limit)


def _fresh() -> None:
    subprocess.run(_FRESH, check=True)


def _milliseconds(call: Callable[[], None], repeats: int) -> Sequence[float]:
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return [1000 * value for value in seconds]


def _ms(value: float | np.floating[Any]) -> str:
    return f"{value:.1f} ms" if value < 100 else f"{value:.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the repetitions")
    scale = parser.parse_args().scale
    print(f"{description()}; BenchExec {version('benchexec')}\n")
    print(
        "| what | here | BenchExec | fresh interpreter | aim |\n|---|---|---|---|---|", flush=True
    )
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ours, theirs = stack.enter_context(Ours(folder)), BenchExec(folder)
        repeats = max(int(20 * scale), 2)
        measures: tuple[Callable[[], list[Row]], ...] = (
            lambda: overhead(ours, theirs, 30 * repeats),
            lambda: overshoot(ours, theirs, repeats),
            lambda: kill(ours, theirs, repeats // 4 + 1, "commands", f"{CROWD} commands"),
            lambda: kill(ours, theirs, repeats // 4 + 1, "crowd", f"{CROWD} copies of a fit"),
        )
        for measure in measures:
            for row in measure():
                print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
