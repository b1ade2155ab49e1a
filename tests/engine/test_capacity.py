"""Counting slots and shrinking sandboxes, on made-up nodes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.engine.capacity import Node, count_slots, fit, fitted
from runner.errors import CannotRunError
from runner.sandbox import Limits

GB = 10**9
NODES = st.lists(
    st.builds(Node, cores=st.integers(1, 64), memory=st.integers(1, 512).map(lambda n: n * GB)),
    min_size=1,
    max_size=6,
)
LIMITS = st.builds(
    Limits,
    cpus=st.integers(1, 128),
    memory=st.integers(1, 1024).map(lambda n: n * GB),
    seconds=st.just(1.0),
)


def test_slots_of_each_node_by_the_scarcer_resource() -> None:
    nodes = [Node(8, 64 * GB), Node(16, 8 * GB), Node(2, 500 * GB)]
    assert count_slots(nodes, Node(4, 12 * GB)) == 2
    assert count_slots(nodes, Node(1, 4 * GB)) == 8 + 2 + 2


@given(NODES, LIMITS)
def test_what_fits_is_kept_and_the_rest_is_shrunk_to_fit(nodes: list[Node], limits: Limits) -> None:
    capacity = fitted(limits, nodes, shrink=True)
    assert capacity.size == Node(capacity.limits.cpus, capacity.limits.memory)
    assert capacity.slots == count_slots(nodes, capacity.size) >= 1
    if count_slots(nodes, Node(limits.cpus, limits.memory)):
        assert capacity.limits == limits
        assert capacity.note is None
    else:
        assert capacity.limits == fit(limits, nodes)
        assert capacity.limits.cpus <= limits.cpus
        assert capacity.limits.memory <= limits.memory
        assert capacity.note is not None


@given(NODES, LIMITS)
def test_an_exclusive_slot_has_a_node_to_itself(nodes: list[Node], limits: Limits) -> None:
    capacity = fitted(limits, nodes, shrink=True, exclusive=True)
    assert capacity.limits == fitted(limits, nodes, shrink=True).limits
    assert capacity.slots >= 1
    assert all(count_slots([node], capacity.size) <= 1 for node in nodes)
    if len(set(nodes)) == 1:
        assert capacity.slots == len(nodes)
        assert capacity.size.cores == nodes[0].cores


def test_nodes_far_smaller_than_the_largest_stay_idle_under_exclusive() -> None:
    nodes = [Node(cores, 8 * GB) for cores in (64, 64, 48, 32, 8)]
    capacity = fitted(Limits(4, GB, 1.0), nodes, shrink=False, exclusive=True)
    assert (capacity.size.cores, capacity.slots) == (48, 3)
    assert capacity.note is not None
    assert "2 of 5 nodes stay idle" in capacity.note


def test_too_large_says_what_would_fit() -> None:
    nodes = [Node(4, 16 * GB), Node(8, 8 * GB)]
    with pytest.raises(CannotRunError, match=r"12 cores and 12 GB; 8 cores and 8 GB would fit"):
        fitted(Limits(12, 12 * GB, 1.0), nodes, shrink=False)
    with pytest.raises(CannotRunError, match="no node"):
        fitted(Limits(1, GB, 1.0), [], shrink=True)


def test_importing_the_engine_does_not_import_ray() -> None:
    code = "import sys, runner.engine; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
