"""The choice of cores on made-up machines, and the reading of a machine's files."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.sandbox.cores import Place, Topology, choose_cores, parse_list, read_topology


def machine(
    nodes: int, physical: int, threads: int, *, offline: set[int] | None = None
) -> Topology:
    """Nodes of physical cores with threads; siblings are numbered behind all first threads."""
    total = nodes * physical
    return {
        thread * total + core: Place(core, core // physical)
        for thread in range(threads)
        for core in range(total)
        if thread * total + core not in (offline or set())
    }


LAPTOP = machine(1, 4, 2)
"""Cores 0 to 3 with siblings 4 to 7."""
SERVER = machine(2, 4, 2)
"""Node 0: cores 0 to 3 with siblings 8 to 11; node 1: 4 to 7 with 12 to 15."""


@pytest.mark.parametrize(
    ("topology", "free", "count", "chosen"),
    [
        # whole physical cores before siblings
        (LAPTOP, range(8), 1, (0,)),
        (LAPTOP, range(8), 4, (0, 1, 2, 3)),
        (LAPTOP, range(8), 6, (0, 1, 2, 3, 4, 5)),
        (LAPTOP, range(8), 8, tuple(range(8))),
        # a physical core that another sandbox has a part of comes last
        (LAPTOP, [4, 1, 5, 2, 6], 2, (1, 2)),
        (LAPTOP, [4, 5, 6, 1], 1, (1,)),
        (LAPTOP, [4, 5, 6, 1], 3, (1, 4, 5)),
        # one node where it fits, the fuller one first
        (SERVER, range(16), 4, (0, 1, 2, 3)),
        (SERVER, [0, 1, 4, 5, 6, 8, 9, 12, 13, 14], 2, (0, 1)),
        (SERVER, [0, 1, 4, 5, 6, 8, 9, 12, 13, 14], 3, (4, 5, 6)),
        (SERVER, [0, 4, 5, 6, 7, 12, 13, 14, 15], 1, (4,)),
        (SERVER, range(16), 8, (0, 1, 2, 3, 8, 9, 10, 11)),
        # more than a node has
        (SERVER, range(16), 10, (0, 1, 2, 3, 4, 5, 8, 9, 10, 11)),
        (SERVER, [0, 5, 6, 7], 4, (0, 5, 6, 7)),
        # odd counts, and cores that are offline
        (machine(1, 3, 1), range(3), 2, (0, 1)),
        (machine(1, 3, 2, offline={4}), range(6), 2, (0, 1)),
        (machine(1, 3, 2, offline={0, 3}), range(6), 1, (1,)),
        (machine(2, 3, 1, offline={0, 1}), range(6), 2, (3, 4)),
        # fewer than wanted
        (LAPTOP, [2, 6], 4, (2, 6)),
        (LAPTOP, [], 1, ()),
        (LAPTOP, [99], 1, ()),
    ],
)  # fmt: skip
def test_choice(topology: Topology, free: list[int], count: int, chosen: tuple[int, ...]) -> None:
    assert choose_cores(topology, free, count) == chosen


@st.composite
def machines(draw: st.DrawFn) -> Topology:
    whole = machine(draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 2)))
    offline = draw(st.sets(st.sampled_from(sorted(whole)), max_size=len(whole) - 1))
    return {core: place for core, place in whole.items() if core not in offline}


@given(machines(), st.data())
def test_properties(topology: Topology, data: st.DataObject) -> None:
    free = data.draw(st.sets(st.sampled_from(sorted(topology))))
    count = data.draw(st.integers(1, 8))
    chosen = choose_cores(topology, free, count)
    assert len(chosen) == min(count, len(free))
    assert set(chosen) <= free
    assert list(chosen) == sorted(set(chosen))
    assert choose_cores(topology, chosen, count) == chosen
    if not chosen:
        return
    nodes = {topology[core].node for core in chosen}
    by_node = {
        node: [core for core in free if topology[core].node == node]
        for node in {topology[core].node for core in free}
    }
    # As few nodes as any choice of this many could have.
    sizes = sorted(map(len, by_node.values()), reverse=True)
    fewest = next(n for n in itertools.count(1) if sum(sizes[:n]) >= len(chosen))
    assert len(nodes) == fewest
    if fewest == 1:
        # As many physical cores as any choice within one node could have.
        best = max(
            min(count, len({topology[core].physical for core in cores}))
            for cores in by_node.values()
            if len(cores) >= len(chosen)
        )
        whole = [c for c in chosen if _is_whole(topology, free, c)]
        if len(whole) == len(chosen):
            assert len({topology[core].physical for core in chosen}) <= best


def _is_whole(topology: Topology, free: set[int], core: int) -> bool:
    physical = topology[core].physical
    return all(other in free for other, place in topology.items() if place.physical == physical)


@given(machines(), st.lists(st.integers(1, 4), max_size=5))
def test_leases_one_after_the_other_are_disjoint(topology: Topology, counts: list[int]) -> None:
    free = set(topology)
    for count in counts:
        chosen = set(choose_cores(topology, free, count))
        assert chosen <= free
        free -= chosen


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0\n", [0]), ("0-3,8", [0, 1, 2, 3, 8]), ("", []), ("2,4-5\n", [2, 4, 5])],
)
def test_lists_of_the_kernel(text: str, numbers: list[int]) -> None:
    assert parse_list(text) == numbers


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_reading_a_machine(tmp_path: Path) -> None:
    write(tmp_path / "cpu/online", "0-2,5-6\n")
    for core, siblings in {0: "0,2", 2: "0,2", 1: "1", 5: "5-6", 6: "5-6"}.items():
        name = "core_cpus_list" if core else "thread_siblings_list"
        write(tmp_path / f"cpu/cpu{core}/topology/{name}", siblings)
    write(tmp_path / "node/node0/cpulist", "0-3\n")
    write(tmp_path / "node/node1/cpulist", "4-7\n")
    assert read_topology(tmp_path / "cpu", tmp_path / "node") == {
        0: Place(0, 0),
        1: Place(1, 0),
        2: Place(0, 0),
        5: Place(5, 1),
        6: Place(5, 1),
    }


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    topology = read_topology(tmp_path, tmp_path)
    assert topology == {core: Place(core, 0) for core in range(os.cpu_count() or 1)}


def test_this_machine() -> None:
    topology = read_topology()
    assert os.sched_getaffinity(0) <= set(topology)
