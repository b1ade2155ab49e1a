"""Where groups are looked for: mounts and trees of other machines, and the groups of this one."""

from __future__ import annotations

from pathlib import Path

from runner.sandbox import Means
from runner.sandbox.cgroups import Base, Group, bases, distributing
from runner.sandbox.means import candidates
from runner.sandbox.memory import MemoryGroup, oom_kills

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


def test_the_files_of_version_2(tmp_path: Path) -> None:
    base = Base(2, "unified", tmp_path, tmp_path)
    group = Group.make(base, "box")
    for file, text in {
        "memory.max": "max",
        "memory.swap.max": "max",
        "memory.current": "4096",
        "memory.peak": "8192",
        "memory.events": "low 0\nmax 7\noom 2\noom_kill 1",
        "cgroup.kill": "",
        "cgroup.procs": "12\n13\n",
    }.items():
        (group.folder / file).write_text(text)
    limit = MemoryGroup(group, 1 << 20)
    assert (group.folder / "memory.max").read_text().startswith("1048576")
    assert (group.folder / "memory.swap.max").read_text().startswith("0")
    assert limit.peak() == 8192
    limit.start(0)
    assert limit.baseline() == 4096
    assert limit.kills() == oom_kills(group) == 1
    assert group.pids() == [12, 13]
    group.kill()
    assert (group.folder / "cgroup.kill").read_text() == "1"


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
