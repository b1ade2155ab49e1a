"""Real processes at one store: nothing lost, nothing refused, and readable whatever dies."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from runner.store import Store

WRITER = """
import sys
import pyarrow as pa
from runner.store import Store

folder, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = Store.create(folder)
print("ready", flush=True)
sys.stdin.readline()
for index in range(count):
    key = f"{name}-{index}"
    store.append(
        pa.table({"key": [key], "run_id": [name], "outcome": ["ok"], "score": [0.5]}),
        pa.table({"key": [key], "labels": [[name]]}),
    )
    print(key, flush=True)
    if index % 10 == 9 and count > 10:
        store.compact()
"""


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), name, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def start(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("\n")
    process.stdin.flush()


def test_writers_and_a_reader_at_once(tmp_path: Path) -> None:
    """Made, appended to and compacted by three processes, read all the while."""
    names, count = ["a", "b", "c"], 20
    processes = [writer(tmp_path / "results", name, count) for name in names]
    for process in processes:
        start(process)
    store = Store.open(tmp_path / "results")
    seen = 0
    while any(process.poll() is None for process in processes):
        keys = store.query("select key from evaluations")["key"].to_pylist()
        predicted = store.query("select key from predictions")["key"].to_pylist()
        assert len(set(keys)) == len(keys) >= seen
        # Predictions, asked for later here and committed before, are never missing.
        assert set(keys) <= set(predicted)
        seen = len(keys)
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    expected = {f"{name}-{index}" for name in names for index in range(count)}
    keys = store.query("select key from attempts")["key"].to_pylist()
    assert len(keys) == len(expected)
    assert set(keys) == expected
    assert [problem for problem in store.check() if "run" not in problem.text] == []


def test_a_killed_writer_leaves_a_store_that_goes_on(tmp_path: Path) -> None:
    told: list[str] = []
    for attempt in range(3):
        process = writer(tmp_path / "results", f"w{attempt}", 10_000)
        start(process)
        time.sleep(0.3 + 0.05 * attempt)
        process.send_signal(signal.SIGKILL)
        out, _ = process.communicate()
        told += [line for line in out.splitlines() if line.startswith("w")]
        stored = Store.open(tmp_path / "results").query("select key from attempts")
        # What was told as committed is there, and at most the commit in flight besides.
        keys = stored["key"].to_pylist()
        assert set(told) <= set(keys)
        assert len(keys) <= len(told) + attempt + 1
    process = writer(tmp_path / "results", "last", 1)
    start(process)
    process.communicate()
    assert process.returncode == 0
    store = Store.open(tmp_path / "results")
    store.compact()
    assert [problem for problem in store.check() if "run" not in problem.text] == []
