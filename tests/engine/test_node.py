"""Cores, claims, arrays and neighbours, shared between processes of one machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.engine.claims import join_claim, new_claim, sweep_claims
from runner.engine.node import SEATS, Board, lease_cores
from runner.engine.node_arrays import PREFIX, NodeArrays
from runner.sandbox.cores import Place

FORK = multiprocessing.get_context("fork")


def test_leases_are_disjoint_while_cores_last(tmp_path: Path) -> None:
    first, second = (lease_cores(2, range(4), tmp_path) for _ in range(2))
    assert not set(first.cores) & set(second.cores)
    assert not first.shared
    assert not second.shared
    third = lease_cores(2, range(4), tmp_path)
    assert third.shared
    assert len({first.seat, second.seat, third.seat}) == 3
    second.release()
    again = lease_cores(2, range(4), tmp_path)
    assert again.cores == second.cores
    assert not again.shared


def test_least_used_cores_are_shared_first(tmp_path: Path) -> None:
    leases = [lease_cores(1, range(3), tmp_path) for _ in range(9)]
    used = [lease.cores[0] for lease in leases]
    assert [used.count(core) for core in range(3)] == [3, 3, 3]


def test_leases_take_whole_physical_cores_of_one_memory_node_first(tmp_path: Path) -> None:
    # Two nodes of two physical cores with two threads each: 0 and 4 share one, 1 and 5, ...
    topology = {core: Place(core % 4, core % 4 // 2) for core in range(8)}
    leases = [lease_cores(2, range(8), tmp_path, topology) for _ in range(5)]
    assert [lease.cores for lease in leases] == [(0, 1), (2, 3), (4, 5), (6, 7), (0, 1)]
    assert [lease.shared for lease in leases] == [False] * 4 + [True]


def test_a_core_that_somebody_still_shares_is_not_ones_own(tmp_path: Path) -> None:
    first, second = (lease_cores(1, [0], tmp_path) for _ in range(2))
    first.release()
    assert lease_cores(1, [0], tmp_path).shared
    second.release()


def test_leases_never_wait(tmp_path: Path) -> None:
    assert lease_cores(8, range(2), tmp_path).shared
    leases = [lease_cores(2, range(2), tmp_path) for _ in range(SEATS + 3)]
    assert all(lease.cores == (0, 1) for lease in leases)


def test_dead_holders_lease_is_free(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from runner.engine.node import lease_cores;"
        f"lease = lease_cores(1, [0], Path({str(tmp_path)!r})); print('held', flush=True);"
        "time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    second = lease_cores(1, [0], tmp_path)
    assert second.shared
    second.release()
    holder.kill()
    holder.wait()
    assert not lease_cores(1, [0], tmp_path).shared


def test_neighbours_time_average(tmp_path: Path) -> None:
    mine, other, idle = (Board(seat, tmp_path) for seat in (0, 16, 32))
    del idle
    with mine.busy() as neighbours:
        start = time.monotonic()
        time.sleep(0.1)
        with other.busy() as others_view:
            began = time.monotonic()
            time.sleep(0.1)
            ended = time.monotonic()
        time.sleep(0.1)
        total = time.monotonic() - start
    assert neighbours.mean == pytest.approx((ended - began) / total, rel=0.1)
    assert others_view.mean == pytest.approx(1.0, rel=0.05)
    with mine.busy() as alone:
        time.sleep(0.02)
    assert alone.mean == 0.0


def test_neighbour_that_died_busy_counts_no_more(tmp_path: Path) -> None:
    def work() -> None:
        Board(16, tmp_path).busy().__enter__()
        os.kill(os.getpid(), signal.SIGKILL)

    process = FORK.Process(target=work)
    process.start()
    process.join()
    with Board(0, tmp_path).busy() as neighbours:
        time.sleep(0.02)
    assert neighbours.mean == 0.0


def test_claim_is_removed_by_its_last_holder(tmp_path: Path) -> None:
    first = new_claim(tmp_path, "claim-")
    second = join_claim(first.path)
    (first.path / "file").touch()
    first.release()
    sweep_claims(tmp_path, "claim-")
    assert (first.path / "file").exists()
    second.release()
    assert not first.path.exists()


def test_claims_of_the_dead_are_swept(tmp_path: Path) -> None:
    def die() -> None:
        (new_claim(tmp_path, "claim-").path / "file").touch()
        os.kill(os.getpid(), signal.SIGKILL)

    process = FORK.Process(target=die)
    process.start()
    process.join()
    assert len(list(tmp_path.iterdir())) == 1
    sweep_claims(tmp_path, "claim-")
    assert not list(tmp_path.iterdir())


def _user(place: Path, number: int, results: Any) -> None:
    fetched = []

    def fetch() -> Mapping[str, np.ndarray]:
        fetched.append(number)
        time.sleep(0.1)
        return {"x": np.arange(10), "y": np.full((2, 3), 0.5)}

    arrays = NodeArrays("run", (place,))
    folder = Path(arrays.folder("task/1", fetch))
    found = np.load(folder / "x.npy", mmap_mode="r")
    results.put((len(fetched), found.sum(), np.load(folder / "y.npy").shape))
    time.sleep(0.2)
    arrays.close()


def test_arrays_are_written_once_a_node(tmp_path: Path) -> None:
    results = FORK.Queue()
    users = [FORK.Process(target=_user, args=(tmp_path, i, results)) for i in range(5)]
    for user in users:
        user.start()
    got = [results.get(timeout=20) for _ in users]
    for user in users:
        user.join()
    assert sum(fetched for fetched, _, _ in got) == 1
    assert {(total, shape) for _, total, shape in got} == {(45, (2, 3))}
    assert not list(tmp_path.iterdir())


def test_arrays_that_fit_nowhere_else_go_to_the_last_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.mkdir()
    large.mkdir()
    monkeypatch.setattr(
        "runner.engine.node_arrays._fits", lambda place, size: small not in place.parents
    )
    arrays = NodeArrays("run", (small, large))
    folder = Path(arrays.folder("a", lambda: {"x": np.zeros(10)}))
    assert large in folder.parents
    assert arrays.folder("a", dict) == str(folder)
    arrays.close()
    assert not list(small.glob(f"{PREFIX}*"))
    assert not list(large.glob(f"{PREFIX}*"))
