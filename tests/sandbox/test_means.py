"""Where groups are looked for: mounts and trees of other machines, and the groups of this one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.sandbox import Limits, Means
from runner.sandbox.cgroups import Base, Group, bases, distributing
from runner.sandbox.clock import CpuTime, Throttling
from runner.sandbox.confinement import Confinement, Evidence
from runner.sandbox.means import candidates

V1 = """\
31 23 0:28 / {root} rw - tmpfs tmpfs rw
32 31 0:29 / {root}/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
34 31 0:31 / {root}/cpuset rw,relatime - cgroup cgroup rw,cpuset
35 31 0:32 / {root}/memory rw,relatime - cgroup cgroup rw,memory
37 31 0:34 / {root}/freezer rw,relatime - cgroup cgroup rw,freezer
"""
V2 = "41 31 0:38 / {root}/unified rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
MEMBER_V1 = "4:memory:/user/1\n3:cpuset:/\n2:cpu,cpuacct:/\n5:freezer:/\n"


def tree(root: Path, given: dict[str, str]) -> None:
    """A version 2 hierarchy: what each folder gives its children."""
    for folder, controllers in given.items():
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / "cgroup.subtree_control").write_text(controllers + "\n")


def test_version_1(tmp_path: Path) -> None:
    own = bases(V1.format(root=tmp_path), MEMBER_V1)
    assert {name: base.folder for name, base in own.items()} == {
        "memory": tmp_path / "memory/user/1",
        "cpuset": tmp_path / "cpuset",
        "cpu": tmp_path / "cpu,cpuacct",
        "cpuacct": tmp_path / "cpu,cpuacct",
        "freezer": tmp_path / "freezer",
    }
    assert all(base.version == 1 for base in own.values())
    choices = candidates(own)
    assert choices["memory"] == [own["memory"]]
    assert choices["kill"] == [own["freezer"]]


def test_hybrid_prefers_groups_that_are_joined_quickly(tmp_path: Path) -> None:
    tree(tmp_path / "unified", {"": ""})
    own = bases((V1 + V2).format(root=tmp_path), MEMBER_V1 + "0::/\n")
    choices = candidates(own)
    assert choices["memory"] == [own["memory"]]
    assert choices["kill"] == [own["freezer"], own["unified"]]
    assert choices["clock"] == [own["cpuacct"], own["unified"]]


def test_version_2_below_the_nearest_group_that_gives_memory(tmp_path: Path) -> None:
    given = {
        "": "cpuset cpu memory pids",
        "user.slice": "cpuset memory",
        "user.slice/app.slice": "memory pids",
        "user.slice/app.slice/own.scope": "",
    }
    tree(tmp_path / "unified", given)
    own = bases(V2.format(root=tmp_path), "0::/user.slice/app.slice/own.scope\n")
    memory = distributing(own["unified"], {"memory"})
    assert memory is not None
    assert memory.folder == tmp_path / "unified/user.slice/app.slice"
    both = distributing(own["unified"], {"memory", "cpuset"})
    assert both is not None
    assert both.folder == tmp_path / "unified/user.slice"
    choices = candidates(own)
    # One process is in one group: all limits have the same place.
    assert choices.pop("processes") == []
    assert all(bases == [both] for bases in choices.values())


def test_version_2_without_controllers_can_still_kill_and_count(tmp_path: Path) -> None:
    tree(tmp_path / "unified", {"": "", "box": ""})
    own = bases(V2.format(root=tmp_path), "0::/box\n")
    choices = candidates(own)
    assert (choices["memory"], choices["cpu"]) == ([], [])
    assert choices["kill"] == choices["clock"] == [own["unified"]]


def test_a_container_that_sees_a_part_of_the_tree(tmp_path: Path) -> None:
    mounts = f"35 31 0:32 /docker/ab {tmp_path} ro - cgroup cgroup rw,memory\n"
    assert bases(mounts, "4:memory:/docker/ab/job\n")["memory"].folder == tmp_path / "job"
    assert bases(mounts, "4:memory:/docker/ab\n")["memory"].folder == tmp_path


def test_no_control_groups() -> None:
    assert bases("22 1 0:20 / / rw - ext4 /dev/vda rw\n", "") == {}
    assert not any(candidates({}).values())


FRESH = {
    "cgroup.kill": "",
    "cgroup.procs": "12\n13\n",
    "cpu.stat": "usage_usec 2000000\nuser_usec 1500000\nsystem_usec 500000\n",
    "cpuset.cpus": "0-3",
    "cpuset.mems": "0",
    "memory.current": "4096\n",
    "memory.events": "low 0\nmax 0\noom 0\noom_kill 0\n",
    "memory.max": "max    ",
    "memory.peak": "8192\n",
    "memory.swap.max": "max",
    "pids.events": "max 0\n",
    "pids.max": "max",
}
"""What the kernel puts into a new group of version 2."""


@pytest.fixture
def version_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Base:
    """A tree in which new groups get the files that the kernel would make."""
    make = Group.make

    def filled(base: Base, name: str) -> Group:
        group = make(base, name)
        for file, text in FRESH.items():
            (group.folder / file).write_text(text)
        return group

    monkeypatch.setattr(Group, "make", filled)
    return Base(2, "unified", tmp_path, tmp_path)


def confined(base: Base, limits: Limits) -> tuple[Confinement, Path]:
    means = Means(memory=base, cpu=base, kill=base, clock=base, processes=base)
    made = Confinement(means, "box", limits, [2, 3], 0, own_user=False, own_files=False)
    return made, base.folder / "box"


def test_version_2_has_one_group_with_all_limits(version_2: Base) -> None:
    limits = Limits(2, 1 << 20, 5, processes=7, file_size=9, open_files=11)
    confinement, folder = confined(version_2, limits)
    written = {
        name: (folder / name).read_text().strip()
        for name in ("memory.max", "memory.swap.max", "cpuset.cpus", "pids.max")
    }
    # A file of the kernel's forgets what it held; one of the fake tree keeps the end of it.
    assert written.pop("memory.max").startswith("1048576")
    assert written == {"memory.swap.max": "0ax", "cpuset.cpus": "2,3", "pids.max": "7ax"}
    assert confinement.rlimits == {"RLIMIT_FSIZE": 9, "RLIMIT_NOFILE": 11}
    with confinement.doors() as doors:
        assert len(doors) == 1
        assert os.readlink(f"/proc/self/fd/{doors[0]}") == str(folder / "cgroup.procs")
    assert confinement.admit(12)
    assert not confinement.admit(1)
    assert confinement.kill()
    assert (folder / "cgroup.kill").read_text() == "1"


def test_version_2_measures(version_2: Base) -> None:
    confinement, folder = confined(version_2, Limits(2, 1 << 20, 5, processes=7))
    confinement.start(12)
    (folder / "cpu.stat").write_text("usage_usec 5000000\nuser_usec 3500000\nsystem_usec 1500000")
    assert confinement.cpu_seconds() == 3
    confinement.stop()
    (folder / "cpu.stat").write_text("usage_usec 9000000\nuser_usec 3500000\nsystem_usec 5500000")
    with (folder / "memory.peak").open("r+") as peak:
        peak.write("3145728")
    assert confinement.evidence() == Evidence(0, 0)
    (folder / "memory.events").write_text("low 0\nmax 7\noom 2\noom_kill 1\n")
    (folder / "pids.events").write_text("max 5\n")
    assert confinement.evidence() == Evidence(oom_kills=1, refused=5)
    assert confinement.look() is None
    usage = confinement.usage(4.0, CpuTime(0, 0))
    assert (usage.cpu_seconds, usage.user_seconds, usage.system_seconds) == (3, 2, 1)
    assert (usage.peak_mib, usage.baseline_mib, usage.oom_kills) == (3, 4096 / 2**20, 1)


def test_throttling_is_that_of_the_groups_above(tmp_path: Path) -> None:
    base = Base(2, "unified", tmp_path / "pod/box", tmp_path)
    base.folder.mkdir(parents=True)
    (tmp_path / "cpu.stat").write_text("usage_usec 1\n")
    (tmp_path / "pod/cpu.stat").write_text("usage_usec 1\nthrottled_usec 2000000\n")
    (tmp_path / "pod/box/cpu.stat").write_text("usage_usec 1\nthrottled_usec 500000\n")
    throttling = Throttling({"unified": base})
    throttling.start()
    (tmp_path / "pod/cpu.stat").write_text("usage_usec 1\nthrottled_usec 3000000\n")
    assert throttling.read() == 1
    assert Throttling({}).read() is None


def test_what_is_told_as_enforced(tmp_path: Path) -> None:
    v1 = Base(1, "memory", tmp_path, tmp_path)
    v2 = Base(2, "unified", tmp_path, tmp_path)
    assert (
        Means(v2, v2, v2, v2).enforced().items()
        >= {
            "memory": "cgroup-v2",
            "cpu": "cpuset",
            "kill": "cgroup.kill",
        }.items()
    )
    assert (
        Means(memory=v1, kill=v1).enforced().items()
        >= {
            "memory": "cgroup-v1",
            "cpu": "affinity",
            "kill": "freezer",
        }.items()
    )
