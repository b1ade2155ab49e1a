"""What doctor says of a machine, on made-up ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.sandbox import Means, explain
from runner.sandbox.cgroups import Base
from runner.sandbox.explanation import (
    Controller,
    Surroundings,
    missing_confinement,
    missing_group,
)
from runner.sandbox.jail import Jail
from runner.sandbox.means import Private

V1 = Controller(1, "/sys/fs/cgroup/memory/a", given=True, writable=True)
FOREIGN = Controller(1, "/sys/fs/cgroup/memory/a", given=True, writable=False)
V2 = Controller(2, "/sys/fs/cgroup/user.slice", given=False, writable=True)


def machine(controller: Controller | None, root: bool = False) -> Surroundings:
    found = {} if controller is None else {"memory": controller}
    return Surroundings(root=root, controllers=found, bubblewrap=False)


@pytest.mark.parametrize(
    ("controller", "root", "said"),
    [
        (None, True, "is mounted"),
        (FOREIGN, False, "chown"),
        (V2, False, "systemd-run --user --scope"),
        (V2, True, "+memory"),
        (V1, True, "trial"),
    ],
)
def test_what_is_missing(controller: Controller | None, root: bool, said: str) -> None:
    assert said in missing_group("memory", machine(controller, root))


def test_the_strongest_means_lack_nothing() -> None:
    base = Base(2, "unified", Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup"))
    strong = Means(base, base, base, base, base, private=Private(user=False, processes=True))
    for holding in explain(strong.enforced(), machine(V1)):
        assert holding.weakness is None
        assert holding.missing is None


def test_weaker_means_say_what_they_let_pass_and_what_is_missing() -> None:
    held = {holding.limit: holding for holding in explain(Means().enforced(), machine(None))}
    assert set(held) == {"wall", *Means().enforced()}
    for limit in ("memory", "cpu", "kill", "cpu_time", "processes"):
        assert held[limit].weakness
        assert "is mounted" in str(held[limit].missing)
    for limit in ("shared_memory", "groups"):
        assert held[limit].weakness
        assert "user namespaces" in str(held[limit].missing)


def test_means_of_every_kind_are_explained() -> None:
    namespaces = [Private(user, alone) for user in (True, False) for alone in (True, False)]
    for private in (None, *namespaces):
        for trust in ("fits", "archive"):
            enforced = Means(private=private).enforced(trust)
            assert len(explain(enforced, machine(None))) == len(enforced) + 1


def test_every_means_is_in_the_documentation() -> None:
    text = (Path(__file__).parents[2] / "docs/sandbox.md").read_text()
    base = Base(2, "unified", Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup"))
    for jail in (Jail("bubblewrap", 1), Jail("namespaces", None)):
        own = Private(user=False, processes=True)
        for means in (Means(jail=jail), Means(base, base, base, base, base, own, jail)):
            for limit, held in (means.enforced() | means.enforced("archive")).items():
                assert f"`{limit}`" in text
                assert f"`{held}`" in text


def test_why_an_archive_is_refused() -> None:
    said = missing_confinement({"namespaces": ["it doesn't start: no"]}, machine(None))
    assert "it doesn't start: no" in said
    assert "package bubblewrap" in said
