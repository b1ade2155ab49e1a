"""What nodes there are, and how many sandboxes of a size they hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from runner.errors import CannotRunError
from runner.sandbox import Limits


@dataclass(frozen=True)
class Node:
    """What a node has for sandboxes, or a slot takes of it: cores, and memory in bytes."""

    cores: int
    memory: int


@dataclass(frozen=True)
class Capacity:
    """How a sandbox fits.

    Attributes:
        limits: Those asked for, or what was left of them to fit the largest node.
        size: What a slot takes of its node.
        slots: How many sandboxes run at once.
        note: What a person should know, such as that the sandbox was shrunk; else None.
    """

    limits: Limits
    size: Node
    slots: int
    note: str | None = None


def count_slots(nodes: Sequence[Node], size: Node) -> int:
    """How many slots of this size the nodes hold at once."""
    return sum(_slots(node, size) for node in nodes)


def slot_size(limits: Limits, nodes: Sequence[Node], *, exclusive: bool) -> Node:
    """What a slot takes of its node.

    An exclusive one takes so many cores that no node holds two: more than half of the largest.
    That are all cores of the smallest node which is larger than that; still smaller nodes stay
    idle, and times of unlike nodes don't compare anyway.

    Args:
        limits: What a sandbox may use.
        nodes: The nodes.
        exclusive: Whether a node holds one slot at most.
    """
    cores = limits.cpus
    able = [node.cores for node in nodes if node.cores >= cores and node.memory >= limits.memory]
    if exclusive and able:
        cores = min(count for count in able if count > max(able) // 2)
    return Node(cores, limits.memory)


def fit(limits: Limits, nodes: Sequence[Node]) -> Limits:
    """The limits, with cores and memory shrunk to the node that comes nearest to them.

    Args:
        limits: What is asked for.
        nodes: At least one.
    """

    def shrunk(node: Node) -> tuple[int, int]:
        return min(limits.cpus, node.cores), min(limits.memory, node.memory)

    cpus, memory = max(map(shrunk, nodes))
    return dataclasses.replace(limits, cpus=cpus, memory=memory)


def fitted(
    limits: Limits, nodes: Sequence[Node], *, shrink: bool, exclusive: bool = False
) -> Capacity:
    """How many sandboxes the nodes hold, of the size asked for or the nearest possible.

    Args:
        limits: What is asked for.
        nodes: The nodes.
        shrink: Whether a sandbox that no node can hold is made smaller.
        exclusive: Whether a node holds one at most.

    Raises:
        CannotRunError: No node can hold one.
    """

    def held(limits: Limits, note: str | None = None) -> Capacity:
        size = slot_size(limits, nodes, exclusive=exclusive)
        slots = count_slots(nodes, size)
        able = sum(_slots(node, Node(limits.cpus, limits.memory)) > 0 for node in nodes)
        if exclusive and slots < able:
            idle = (
                f"{able - slots} of {able} nodes stay idle: exclusive times are taken on nodes of "
                f"{size.cores} cores and more"
            )
            note = f"{note}; {idle}" if note else idle
        return Capacity(limits, size, slots, note)

    found = held(limits)
    if found.slots:
        return found
    if not nodes or not any(node.cores and node.memory for node in nodes):
        raise CannotRunError("there is no node with cores and memory for a sandbox")
    smaller = fit(limits, nodes)
    if not shrink:
        raise CannotRunError(
            f"no node can hold a sandbox of {_size(limits)}; {_size(smaller)} would fit "
            "(--fit-sandbox shrinks it so)"
        )
    note = f"the sandbox of {_size(limits)} fits no node: shrunk to {_size(smaller)}"
    return held(smaller, note)


def _slots(node: Node, size: Node) -> int:
    return min(node.cores // size.cores, node.memory // size.memory)


def _size(limits: Limits) -> str:
    cores = "1 core" if limits.cpus == 1 else f"{limits.cpus} cores"
    # Rounded down, so that the size told fits when it is typed.
    return f"{cores} and {limits.memory // 10**7 / 100:g} GB"
