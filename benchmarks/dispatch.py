"""What the engine and the sandbox cost: ``python -m benchmarks.dispatch``.

Prints a table in Markdown. Three measurements of the engine with jobs that do nothing, with jobs of
a second, and on simulated nodes of which one is killed; one of planning against a full store.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.jobs import Recorder, Sleepers, settings
from benchmarks.machine import description
from runner import engine
from runner.engine import Summary
from runner.store import Store, key
from runner.store.schema import ATTEMPTS

Row = tuple[str, str, str]


def nothing(jobs: int) -> Row:
    """Jobs that do nothing, each in its sandbox, on all cores of this machine."""
    _, summary = _run(Sleepers(jobs, 0.0), 0.0)
    steady = (summary.seconds - summary.startup_seconds) / jobs
    return (
        f"{jobs} jobs that do nothing, {summary.slots} slots",
        f"{1000 * steady:.1f} ms a job (Ray's start-up of {summary.startup_seconds:.1f} s aside)",
        "at most 15 ms",
    )


def of_a_second(jobs: int) -> Row:
    """Jobs of a second: the share of slot time that isn't spent in them."""
    recorder, summary = _run(Sleepers(jobs, 1.0), 1.0)
    work = jobs / summary.slots
    ends = [
        start.timestamp() + seconds
        for start, seconds in zip(recorder.began, recorder.seconds, strict=True)
    ]
    up = max(ends) - min(recorder.began).timestamp()
    return (
        f"{jobs} jobs of 1 s, {summary.slots} slots",
        f"{100 * (1 - work / up):.1f} % of the slots' time from the first job's start to the last "
        f"one's end; {100 * (1 - work / summary.seconds):.1f} % of the whole command's "
        f"{summary.seconds:.0f} s, Ray's start and end included",
        "at most 5 %",
    )


def simulated_nodes(jobs: int, seconds: float) -> Row:
    """Four nodes of 8 logical cores, one killed in the middle; jobs sleep, without sandboxes.

    Sandboxes are left out since 32 slots on this machine's few cores would measure the forks.
    """
    recorder = Recorder()
    source = Sleepers(jobs, seconds)
    with _cluster(nodes=4, cores=8) as (address, nodes, cluster):
        killer = threading.Thread(
            target=_kill_in_the_middle, args=[recorder, jobs, cluster, nodes[-1]], daemon=True
        )
        killer.start()
        engine.run(settings(seconds, address=address), source, recorder, recorder, confined=False)
        killer.join()
    _check(recorder, jobs)
    # Once workers are up: from the first tenth of the rows on; ideal with the slots there were.
    rate, ideal = _rates(recorder, jobs, seconds, slots_before=32, slots_after=24)
    return (
        f"{jobs} jobs of {1000 * seconds:.0f} ms on 4 nodes of 8 logical cores, one killed",
        f"{100 * rate / ideal:.0f} % of the ideal rate ({rate:.0f} of {ideal:.0f} jobs a second), "
        "nothing lost or doubled",
        "at least 85 %",
    )


def planning(rows: int) -> Row:
    """Asking a store of many rows which of as many planned keys it serves."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.create(Path(folder))
        keys = [key({"number": number}, {"system": 1}) for number in range(rows)]
        for start in range(0, rows, 20_000):
            store.append(_ok_rows(keys[start : start + 20_000]))
        started = time.perf_counter()
        reuse = store.served(keys, seconds=3600, memory_mib=2000)
        seconds = time.perf_counter() - started
        assert len(reuse.served) == rows
    return f"{rows} planned keys against as many rows", f"{seconds:.2f} s", "at most 2 s"


def _run(source: Sleepers, seconds: float) -> tuple[Recorder, Summary]:
    recorder = Recorder()
    summary = engine.run(settings(seconds), source, recorder, recorder)
    _check(recorder, len(source.initial()))
    return recorder, summary


def _check(recorder: Recorder, jobs: int) -> None:
    assert len(recorder.keys) == jobs, f"{jobs - len(recorder.keys)} jobs were lost"
    assert set(recorder.keys.values()) == {1}, "a job came twice"
    assert set(recorder.outcomes) == {"ok"}, recorder.outcomes


@contextmanager
def _cluster(nodes: int, cores: int) -> Iterator[tuple[str, list[Any], Any]]:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    added = [cluster.add_node(num_cpus=cores, memory=4 * 10**9) for _ in range(nodes)]
    try:
        yield cluster.address, added, cluster
    finally:
        cluster.shutdown()


def _kill_in_the_middle(recorder: Recorder, jobs: int, cluster: Any, node: Any) -> None:
    while sum(recorder.keys.values()) < jobs / 2:
        time.sleep(0.05)
    cluster.remove_node(node, allow_graceful=False)


def _rates(
    recorder: Recorder, jobs: int, seconds: float, slots_before: int, slots_after: int
) -> tuple[float, float]:
    """Jobs a second, measured and ideal, between a tenth of the rows and all of them."""
    done = 0
    began: tuple[float, int] | None = None
    for moment, count in recorder.arrivals:
        done += count
        if began is None and done >= jobs / 10:
            began = moment, done
    assert began is not None
    ended = recorder.arrivals[-1][0]
    before = max(jobs / 2 - began[1], 0)
    ideal_seconds = before * seconds / slots_before + (jobs / 2) * seconds / slots_after
    return (jobs - began[1]) / (ended - began[0]), (jobs - began[1]) / ideal_seconds


def _ok_rows(keys: list[str]) -> pa.Table:
    columns: dict[str, Any] = {
        "key": keys,
        "run_id": ["benchmark"] * len(keys),
        "outcome": ["ok"] * len(keys),
        "score": [0.5] * len(keys),
        "wall_seconds": [1.0] * len(keys),
        "limit_seconds": [3600.0] * len(keys),
        "peak_mib": [100.0] * len(keys),
        "memory_mib": [1907] * len(keys),
        "attempt": [1] * len(keys),
        "started_at": [datetime.now(UTC)] * len(keys),
    }
    schema = pa.schema([ATTEMPTS.field(name) for name in columns])
    return pa.table(columns, schema=schema)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the jobs to run")
    scale = parser.parse_args().scale
    print(f"{description()}\n\n| what | measured | aim |\n|---|---|---|", flush=True)
    for measure, arguments in (
        (nothing, (int(1000 * scale),)),
        (of_a_second, (int(140 * scale),)),
        (simulated_nodes, (int(20_000 * scale), 0.05)),
        (planning, (int(100_000 * scale),)),
    ):
        print("| " + " | ".join(measure(*arguments)) + " |", flush=True)


if __name__ == "__main__":
    main()
