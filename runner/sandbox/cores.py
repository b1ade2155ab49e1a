"""Which cores a sandbox gets: whole physical cores of one memory node, where that is possible.

The choice is a function of plain data, so that machines of any shape are tested on this one; only
:func:`read_topology` looks at a machine.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_CPUS = Path("/sys/devices/system/cpu")
_NODES = Path("/sys/devices/system/node")


@dataclass(frozen=True)
class Place:
    """Where a logical core lies.

    Attributes:
        physical: Number of its physical core; logical cores that share it slow each other down.
        node: Number of its memory node (NUMA); memory of another one is slower.
    """

    physical: int
    node: int


class _Ranked(NamedTuple):
    """A free core: whether somebody else has a part of its physical core, and how many free
    siblings come before it."""

    in_part: bool
    sibling: int
    number: int


Topology = Mapping[int, Place]
"""Where each logical core lies that is online."""


def choose_cores(topology: Topology, free: Collection[int], count: int) -> tuple[int, ...]:
    """The best ``count`` of the free logical cores.

    In this order: on as few memory nodes as possible, on physical cores of which nobody else uses
    a part, one logical core on each of these before their siblings; then the memory node that is
    left with the least, so that large gaps stay for others; then the lowest numbers.

    Args:
        topology: Where the cores lie.
        free: Logical cores to choose from; those that the topology lacks are left out.
        count: How many are wanted, at least 1.

    Returns:
        The chosen ones, ascending; all free ones where there are fewer than ``count``.
    """
    usable = sorted(set(free) & set(topology))
    by_node: dict[int, list[int]] = defaultdict(list)
    for core in usable:
        by_node[topology[core].node].append(core)
    ranked = {node: _ranked(topology, cores) for node, cores in by_node.items()}
    chosen: list[int] = []
    while ranked and len(chosen) < count:
        node = _best_node(ranked, count - len(chosen))
        chosen += [core.number for core in ranked.pop(node)[: count - len(chosen)]]
    return tuple(sorted(chosen))


def _ranked(topology: Topology, cores: Iterable[int]) -> list[_Ranked]:
    """Free cores of a node in the order in which a sandbox takes them."""
    free: dict[int, list[int]] = defaultdict(list)
    for core in cores:
        free[topology[core].physical].append(core)
    siblings = Counter(place.physical for place in topology.values())
    return sorted(
        _Ranked(len(group) < siblings[physical], index, core)
        for physical, group in free.items()
        for index, core in enumerate(group)
    )


def _best_node(ranked: Mapping[int, Sequence[_Ranked]], wanted: int) -> int:
    """The node that holds what is wanted with the least shared and the least left over; where
    none does, the one with the most."""

    def rank(node: int) -> tuple[int, int, int, int, int]:
        cores = ranked[node][:wanted]
        with_others = sum(core.in_part for core in cores)
        with_own = sum(core.sibling > 0 for core in cores)
        return wanted - len(cores), with_others, with_own, len(ranked[node]), node

    return min(ranked, key=rank)


def read_topology(cpus: Path = _CPUS, nodes: Path = _NODES) -> Topology:
    """Where this machine's online cores lie.

    What the machine doesn't tell counts as a physical core of its own, on node 0.
    """
    node_of: dict[int, int] = {}
    for folder in nodes.glob("node[0-9]*"):
        with suppress(OSError, ValueError):
            for core in parse_list((folder / "cpulist").read_text()):
                node_of[core] = int(folder.name.removeprefix("node"))
    return {core: Place(_first_sibling(cpus, core), node_of.get(core, 0)) for core in _online(cpus)}


def parse_list(text: str) -> list[int]:
    """The numbers of a kernel's list such as ``0-3,8``.

    Raises:
        ValueError: It is no such list.
    """
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def _online(cpus: Path) -> list[int]:
    try:
        return parse_list((cpus / "online").read_text())
    except (OSError, ValueError):
        return list(range(os.cpu_count() or 1))


def _first_sibling(cpus: Path, core: int) -> int:
    """A physical core goes by the lowest of its logical ones: ``core_id`` is one's own only
    within a socket."""
    # The second name is that of kernels before 5.3.
    for name in ("core_cpus_list", "thread_siblings_list"):
        with suppress(OSError, ValueError):
            siblings = parse_list((cpus / f"cpu{core}" / "topology" / name).read_text())
            if core in siblings:
                return min(siblings)
    return core
