"""``runner doctor``: what this machine can run, and which limits hold here."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.errors import CannotRunError

if TYPE_CHECKING:
    from rich.console import Console

    from runner.sandbox import Holding, Limits, Surroundings

_LIBRARIES = {
    "ray": "ray",
    "numpy": "numpy",
    "scikit-learn": "sklearn",
    "lightgbm": "lightgbm",
    "pyarrow": "pyarrow",
}
"""What results rest on: the distribution and the module it brings."""

_SANDBOX = (1, 2 * 10**9)
"""Cores and bytes of the sandbox whose number is told: that of configs/quickstart.yaml."""


@dataclass(frozen=True)
class _Library:
    """A library: its version, and why it can't be imported, if so."""

    version: str | None
    problem: str | None = None


@dataclass(frozen=True)
class _Archive:
    """What somebody else's code is confined by, or why it is refused."""

    enforced: Mapping[str, str]
    problem: str | None


@dataclass(frozen=True)
class _Examination:
    """What was found; also the JSON document.

    Attributes:
        machine: cpu model, cores, memory in MiB, kernel: as rows name it.
        cores: Logical and physical ones, memory nodes, and the logical ones usable here.
        memory: Total, available and swap, in MiB.
        quiet: Load, frequency governor and turbo; None where the machine doesn't tell.
        limits: Each with its means, its weakness and what a stronger one needs.
        archive: How somebody else's code is confined.
        versions: Of this program and its libraries.
        sandboxes: How many of one core and 2 GB run at once, and where.
    """

    machine: Mapping[str, Any]
    cores: Mapping[str, Any]
    memory: Mapping[str, int]
    quiet: Mapping[str, Any]
    limits: tuple[Holding, ...]
    archive: _Archive
    versions: Mapping[str, _Library]
    sandboxes: Mapping[str, Any]


@click.command("doctor")
@click.option(
    "--address",
    default="local",
    show_default=True,
    help="The Ray cluster whose room is told: local, auto or host:port.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(address: str, as_json: bool) -> None:
    """Say what this machine can run, which limits hold here and what stronger ones need.

    docs/sandbox.md explains the means.

    Example: runner doctor
    """
    examination = _examine(address)
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(examination)))
    else:
        _print(examination)


def _examine(address: str) -> _Examination:
    from runner import engine
    from runner.sandbox import explain, probe, surroundings

    around = surroundings()
    return _Examination(
        machine=json.loads(engine.machine()),
        cores=_cores(),
        memory=_memory(),
        quiet=_quiet(),
        limits=explain(probe().enforced(), around),
        archive=_archive(around),
        sandboxes=_sandboxes(address),
        versions=_versions(),
    )


def _archive(around: Surroundings) -> _Archive:
    from runner.sandbox import jail, missing_confinement, probe

    means = probe("archive")
    if means.jail is not None:
        return _Archive(means.enforced("archive"), None)
    tried = {
        f"{way.maker} with {'a user namespace' if way.uid is None else 'another user'}": (
            jail.failures(way)
        )
        for way in jail.candidates()
    }
    return _Archive({}, missing_confinement(tried, around))


def _cores() -> dict[str, Any]:
    from runner.sandbox.cores import read_topology

    places = read_topology()
    return {
        "logical": len(places),
        "physical": len({place.physical for place in places.values()}),
        "memory_nodes": len({place.node for place in places.values()}),
        "usable": sorted(os.sched_getaffinity(0)),
    }


def _memory() -> dict[str, int]:
    table = {}
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, rest = line.partition(":")
        table[name] = int(rest.split()[0]) // 1024
    return {
        "total_mib": table["MemTotal"],
        "available_mib": table["MemAvailable"],
        "swap_mib": table["SwapTotal"],
    }


def _sandboxes(address: str) -> dict[str, Any]:
    from runner import engine
    from runner.sandbox import Limits

    limits = Limits(cpus=_SANDBOX[0], memory=_SANDBOX[1], seconds=1)
    try:
        count = engine.capacity(address, limits).slots
    except CannotRunError as error:
        return {"address": address, **_size(limits), "at_once": 0, "problem": str(error)}
    return {"address": address, **_size(limits), "at_once": count, "problem": None}


def _size(limits: Limits) -> dict[str, int]:
    return {"cpus": limits.cpus, "memory_mib": limits.memory_mib}


def _versions() -> dict[str, _Library]:
    python = _Library(platform.python_version())
    libraries = {name: _library(name, module) for name, module in _LIBRARIES.items()}
    return {"python": python, "runner": _Library(version("runner")), **libraries}


def _library(name: str, module: str) -> _Library:
    try:
        installed = version(name)
    except PackageNotFoundError:
        return _Library(None, "not installed")
    try:
        importlib.import_module(module)
    except Exception as error:
        return _Library(installed, " ".join(f"{type(error).__name__}: {error}".split()))
    return _Library(installed)


def _quiet() -> dict[str, Any]:
    from runner.engine.quiet import read_governor, read_turbo

    return {
        "load": [round(value, 2) for value in os.getloadavg()],
        "governor": read_governor(sorted(os.sched_getaffinity(0))),
        "turbo": read_turbo(),
    }


def _print(found: _Examination) -> None:
    from rich.console import Console

    # A pipe has no width to wrap at: each line stays one.
    console = Console(soft_wrap=not sys.stdout.isatty(), highlight=False)
    _print_pairs(console, "Machine", _machine_lines(found))
    _print_limits(console, found)
    _print_pairs(console, "Versions", _version_lines(found.versions))


def _machine_lines(found: _Examination) -> dict[str, str]:
    cores, memory, quiet = found.cores, found.memory, found.quiet
    usable = ",".join(map(str, cores["usable"]))
    swap = f"{memory['swap_mib']} MiB of swap" if memory["swap_mib"] else "no swap"
    load = ", ".join(f"{value:.1f}" for value in quiet["load"])
    room = found.sandboxes
    turbo = {True: "on", False: "off", None: "not told here"}[quiet["turbo"]]
    size = f"{room['cpus']} core and {room['memory_mib']} MiB"
    return {
        "cpu": str(found.machine["cpu"]),
        "cores": f"{cores['logical']} logical on {cores['physical']} physical, "
        f"{cores['memory_nodes']} memory node(s); usable here: {usable}",
        "memory": f"{memory['total_mib']} MiB, {memory['available_mib']} MiB available, {swap}",
        "kernel": str(found.machine["kernel"]),
        "load": load,
        "frequency": f"governor {quiet['governor'] or 'not told here'}, turbo {turbo}",
        "sandboxes": f"{room['at_once']} of {size} at once ({room['address']})"
        + (f": {room['problem']}" if room["problem"] else ""),
    }


def _version_lines(versions: Mapping[str, _Library]) -> dict[str, str]:
    return {
        name: f"{library.version or ''} {library.problem or ''}".strip()
        for name, library in versions.items()
    }


def _print_pairs(console: Console, title: str, lines: Mapping[str, str]) -> None:
    console.print(f"[bold]{title}[/bold]")
    width = max(map(len, lines))
    for name, text in lines.items():
        console.print(f"  {name:{width}}  {text}", markup=False)
    console.print()


def _print_limits(console: Console, found: _Examination) -> None:
    lines = {holding.limit: holding.means for holding in found.limits}
    for limit, means in found.archive.enforced.items():
        if lines[limit] != means:
            lines[limit] += f"; for somebody else's code {means}"
    _print_pairs(console, "Limits, and what they rest on", lines)
    remarks = list(_remarks(found))
    for remark in remarks:
        console.print(f"  {remark}", markup=False)
    if remarks:
        console.print()


def _remarks(found: _Examination) -> Iterator[str]:
    for holding in found.limits:
        if holding.weakness:
            yield f"{holding.limit}: {holding.weakness}"
        if holding.missing:
            yield f"  stronger: {holding.missing}"
    if found.archive.problem:
        yield "somebody else's code (an archive) is refused here"
        yield f"  {found.archive.problem}"
