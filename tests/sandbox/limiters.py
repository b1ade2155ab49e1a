"""The ways to hold a sandbox's limits that this machine allows this user."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from runner.sandbox import Means, Sandbox, Trust, cgroups, jail, probe
from runner.sandbox.means import holds, private


@dataclass(frozen=True)
class Limiter:
    """Means to hold limits by, and whose code they are to hold.

    Attributes:
        quick: Whether the quick tests run it.
    """

    name: str
    means: Means = field(repr=False)
    trust: Trust = "fits"
    quick: bool = False

    def sandbox(self, *preload: str, scratch: Path | None = None) -> Sandbox:
        """One of its sandboxes, on one core."""
        return Sandbox(
            [min(os.sched_getaffinity(0))],
            preload=["sandbox_works", *preload],
            scratch=scratch,
            means=self.means,
            trust=self.trust,
            readable=[Path(__file__).parent],
        )


@functools.cache
def limiters() -> tuple[Limiter, ...]:
    """All of them, none with the same means as another one, the quick ones first."""
    distinct: dict[tuple[Means, Trust], Limiter] = {}
    for limiter in sorted(_candidates(), key=lambda limiter: not limiter.quick):
        distinct.setdefault((limiter.means, limiter.trust), limiter)
    return tuple(distinct.values())


def _candidates() -> Iterator[Limiter]:
    found = probe()
    # Root has groups nearly everywhere, others nearly nowhere.
    root = os.getuid() == 0
    yield Limiter("strongest", found, quick=root)
    yield Limiter("no groups", Means(private=private(processes=True)), quick=not root)
    yield Limiter("no groups, among other processes", Means(private=private(processes=False)))
    yield Limiter("nothing", Means())
    unified = cgroups.own_bases().get("unified")
    version_2 = dataclasses.replace(found, kill=unified, clock=unified)
    if unified is not None and holds(version_2):
        yield Limiter("version 2 kills and counts", version_2)
    jails = [way for way in jail.candidates() if not jail.failures(way)]
    for place, way in enumerate(jails):
        user = "another user" if way.uid is not None else "user namespace"
        name = f"{way.maker}, {user}"
        if place == 0:
            strongest = dataclasses.replace(found, jail=way)
            yield Limiter(f"{name}, strongest", strongest, "archive", quick=True)
        yield Limiter(name, Means(jail=way), "archive")
