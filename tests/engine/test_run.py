"""Whole runs on a real Ray, with real sandboxes."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import psutil
import pyarrow as pa
import pytest
from engine_helpers import GIB, Jobs, Quiet, Table, job, settings

from runner.engine import run, run_in_process
from runner.errors import CannotRunError, InputError, RunnerError
from runner.sandbox import Limits
from runner.store.schema import ATTEMPTS, PREDICTIONS


def test_each_key_once_with_all_columns(cluster: Any) -> None:
    table, watched = Table(), Quiet()
    jobs = [job(f"job{i}", scores=[i / 100, i / 200]) for i in range(40)]
    done = run(settings(address=cluster.address), Jobs(jobs), table, watched)
    assert done.outcomes == {"ok": 80}
    assert not done.interrupted
    assert done.slots == 2
    rows = table.by_key()
    assert set(rows) == {f"job{i}-{j}" for i in range(40) for j in range(2)}
    assert all(commit.schema == ATTEMPTS for commit in table.commits)
    row = rows["job7-1"]
    assert row["score"] == 7 / 200
    assert row["configuration_id"] == 1
    assert (row["run_id"], row["study"], row["timing"]) == ("run", "study", "packed")
    assert (row["cpus"], row["memory_mib"], row["limit_seconds"]) == (1, 1024, 10.0)
    assert (row["attempt"], row["shared_with"], row["threads"], row["imputed"]) == (1, 2, 1, False)
    assert set(json.loads(row["enforced"])) >= {"memory", "cpu", "kill"}
    assert json.loads(row["machine"])["cores"] == psutil.cpu_count()
    assert row["node"]
    assert 0 <= row["neighbours"] < 16
    assert 0 <= time.time() - row["started_at"].timestamp() < 300
    assert watched.told[-1] == (80, 80)


def test_outcomes(cluster: Any) -> None:
    table = Table()
    jobs = [
        job("fine"),
        job("error", fail="no such thing"),
        job("late", sleep=30.0),
        job("big", allocate=GIB),
    ]
    limits = Limits(cpus=1, memory=GIB // 4, seconds=3.0)
    run(settings(address=cluster.address, limits=limits), Jobs(jobs), table, Quiet())
    rows = table.by_key()
    assert {key: row["outcome"] for key, row in rows.items()} == {
        "fine-0": "ok",
        "error-0": "error",
        "late-0": "timeout",
        "big-0": "memory",
    }
    assert rows["error-0"]["reason"] == "ValueError"
    assert rows["error-0"]["error"] == "no such thing"
    assert rows["late-0"]["score"] is None
    assert rows["late-0"]["wall_seconds"] >= 3.0


def test_arrays_predictions_and_follow_up(cluster: Any) -> None:
    table = Table()
    group = {"x": np.arange(1000.0), "y": np.zeros(3)}
    first = [job(f"cv{i}", arrays="task 1/é", sum="x", scores=[0.0]) for i in range(6)]
    finished = []

    def refit(row: Any) -> list[Any]:
        finished.append(row["key"])
        return [job("test", arrays="task 1/é", sum="x", predict=True)] if len(finished) == 3 else []

    done = run(
        settings(address=cluster.address, arrays={"task 1/é": group}),
        Jobs(first, refit),
        table,
        Quiet(),
    )
    assert done.outcomes == {"ok": 7}
    assert {row["score"] for row in table.by_key().values()} == {499500.0}
    [predictions] = table.predictions
    assert predictions.schema == PREDICTIONS
    assert predictions.to_pylist() == [
        {
            "key": "test-0",
            "row_ids": [3, 5],
            "classes": ["no", "yes"],
            "confidences": [0.25, 0.75, 0.5, 0.5],
            "labels": ["yes", "no"],
            "scores": None,
            "ids": None,
        }
    ]
    # Other runs on this machine have arrays of other names.
    assert not list(Path("/dev/shm").glob(f"runner-arrays-*/{quote('task 1/é', safe='')}"))


def test_record_arrives_while_the_next_job_runs(cluster: Any) -> None:
    arrived: dict[str, float] = {}

    def note(rows: pa.Table) -> None:
        arrived.update(dict.fromkeys(rows["key"].to_pylist(), time.time()))

    # Both in one batch: predicted to be quick, the second isn't.
    jobs = [job("quick", 0.011), job("slow", 0.010, sleep=4.0)]
    table = Table(note)
    one = settings(address=cluster.address, limits=Limits(2, 3 * GIB, 20.0))
    run(one, Jobs(jobs), table, Quiet())
    assert arrived["slow-0"] - arrived["quick-0"] > 2.0


def test_job_of_a_killed_slot_is_run_again(cluster: Any, tmp_path: Path) -> None:
    flag = tmp_path / "kill"
    flag.touch()
    table, watched = Table(), Quiet()
    jobs = [job(f"job{i}", 0.1, sleep=0.05) for i in range(30)]
    jobs.append(job("killer", 0.1, kill=str(flag), once=True))
    done = run(settings(address=cluster.address), Jobs(jobs), table, watched)
    rows = table.by_key()
    assert len(rows) == 31
    assert done.outcomes == {"ok": 31}
    assert rows["killer-0"]["attempt"] == 2
    assert any("lost" in text for text in watched.messages)


def test_job_that_kills_its_slot_three_times_is_infra(
    cluster: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    flag = tmp_path / "kill"
    flag.touch()
    table = Table()
    jobs = [job(f"job{i}", sleep=0.01) for i in range(20)]
    jobs.append(job("killer", scores=[0.1, 0.2], kill=str(flag)))
    done = run(settings(address=cluster.address), Jobs(jobs), table, Quiet())
    rows = table.by_key()
    assert done.outcomes == {"ok": 20, "infra": 2}
    for row in (rows["killer-0"], rows["killer-1"]):
        assert (row["outcome"], row["reason"], row["attempt"]) == ("infra", "lost", 3)
    assert capfd.readouterr().out == ""


def test_failing_sink_ends_the_run(cluster: Any) -> None:
    def full(rows: pa.Table) -> None:
        raise OSError(28, "No space left on device")

    jobs = [job(f"job{i}", sleep=0.2) for i in range(200)]
    with pytest.raises(RunnerError, match=r"can't be written.*No space left"):
        run(settings(address=cluster.address), Jobs(jobs), Table(full), Quiet())


def test_interrupted_run_frees_the_cluster(cluster: Any) -> None:
    table = Table(lambda rows: os.kill(os.getpid(), signal.SIGINT))
    jobs = [job(f"job{i}", 0.2, sleep=0.2) for i in range(500)]
    done = run(settings(address=cluster.address), Jobs(jobs), table, Quiet())
    assert done.interrupted
    assert 0 < sum(done.outcomes.values()) == len(table.by_key()) < 500
    # The slots are free again, or this would not end.
    assert run(settings(address=cluster.address), Jobs([job("a")]), Table(), Quiet()).outcomes


def test_failing_source_ends_the_run(cluster: Any) -> None:
    def broken(row: Any) -> list[Any]:
        raise ZeroDivisionError("in the study")

    jobs = [job(f"job{i}", sleep=0.2) for i in range(50)]
    with pytest.raises(ZeroDivisionError, match="in the study"):
        run(settings(address=cluster.address), Jobs(jobs, broken), Table(), Quiet())


def test_slot_that_cannot_start(cluster: Any) -> None:
    with pytest.raises(CannotRunError, match="nosuchmodule"):
        run(
            settings(address=cluster.address, preload=("nosuchmodule",)),
            Jobs([job("a"), job("b")]),
            Table(),
            Quiet(),
        )


def test_slots_that_can_no_longer_start(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    (tmp_path / "brittle.py").write_text(
        f"import os\nif os.path.exists({str(broken)!r}):\n    raise ImportError('brittle')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    jobs = [job(f"job{i}", 0.1, sleep=0.05, kill=str(broken)) for i in range(200)]
    table = Table(lambda rows: broken.touch())
    with pytest.raises(CannotRunError, match=r"no slot can start.*brittle"):
        run(settings(address=cluster.address, preload=("brittle",)), Jobs(jobs), table, Quiet())
    assert table.commits


def test_progress_is_told_while_no_job_ends(cluster: Any) -> None:
    watched = Quiet()
    run(settings(address=cluster.address), Jobs([job("long", sleep=3.0)]), Table(), watched)
    assert watched.told[-1] == (1, 1)
    assert watched.told.count((0, 1)) >= 3


def test_every_row_says_that_the_sandbox_was_shrunk(cluster: Any, tmp_path: Path) -> None:
    flag = tmp_path / "kill"
    flag.touch()
    table = Table()
    jobs = [job("fine"), job("killer", kill=str(flag))]
    run(settings(address=cluster.address, fitted=True), Jobs(jobs), table, Quiet())
    rows = table.by_key()
    assert (rows["fine-0"]["outcome"], rows["killer-0"]["outcome"]) == ("ok", "infra")
    assert {json.loads(row["enforced"])["size"] for row in rows.values()} == {"fitted"}


def test_exclusive_jobs_run_one_by_one_on_a_node(cluster: Any) -> None:
    table = Table()
    jobs = [job(f"job{i}", 0.1, sleep=0.1) for i in range(8)]
    alone = settings(address=cluster.address, exclusive=True, quiet_seconds=0.0)
    done = run(alone, Jobs(jobs), table, Quiet())
    assert (done.slots, done.outcomes) == (1, {"ok": 8})
    rows = table.rows
    assert {type(row["quiet"]) for row in rows} == {bool}
    begun = sorted((row["started_at"].timestamp(), row["wall_seconds"]) for row in rows)
    assert all(a + wall <= b for (a, wall), (b, _) in itertools.pairwise(begun))


def test_limits_are_in_the_rows(cluster: Any) -> None:
    table = Table()
    limits = Limits(1, GIB, 9.0, cpu_seconds=8.0, processes=64, file_size=10**7)
    run(settings(address=cluster.address, limits=limits), Jobs([job("a")]), table, Quiet())
    (row,) = table.rows
    assert (row["limit_seconds"], row["limit_cpu_seconds"]) == (9.0, 8.0)
    assert (row["limit_processes"], row["limit_file_bytes"], row["quiet"]) == (64, 10**7, None)


def test_unknown_column_is_an_error_of_the_job(cluster: Any) -> None:
    del cluster
    table = Table()
    odd = settings(function="works:report_nonsense")
    run_in_process(odd, Jobs([job("odd")]), table, Quiet())
    [row] = table.rows
    assert (row["outcome"], row["reason"]) == ("error", "record")
    assert "colour" in row["error"]


def test_sandbox_too_large(cluster: Any) -> None:
    huge = settings(address=cluster.address, limits=Limits(64, GIB, 1.0))
    with pytest.raises(CannotRunError, match=r"64 cores.*2 cores"):
        run(huge, Jobs([job("a")]), Table(), Quiet())


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:1", "host.invalid:6379"])
def test_unreachable_address(address: str) -> None:
    with pytest.raises(InputError, match=r"address|reach"):
        run(settings(address=address), Jobs([job("a")]), Table(), Quiet())


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_address_of_something_else(answer: bytes) -> None:
    def serve() -> None:
        line, _ = listener.accept()
        line.sendall(answer)
        line.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(InputError, match=r"isn't a Ray cluster|can't reach"):
            run(settings(address=address), Jobs([job("a")]), Table(), Quiet())


def test_nothing_to_do_starts_nothing() -> None:
    done = run(settings(address="127.0.0.1:1"), Jobs([]), Table(), Quiet())
    assert done.outcomes == {}


def test_in_process_gives_the_same_rows() -> None:
    table = Table()
    group = {"x": np.arange(10.0)}
    jobs = [job("a", arrays="g", sum="x", predict=True), job("b", scores=[0.1, 0.2])]
    done = run_in_process(settings(arrays={"g": group}), Jobs(jobs), table, Quiet())
    assert done.outcomes == {"ok": 3}
    rows = table.by_key()
    assert rows["a-0"]["score"] == 45.0
    assert json.loads(rows["a-0"]["enforced"])["memory"] == "none"
    assert table.predictions[0]["key"].to_pylist() == ["a-0"]


def test_node_killed_in_mid_run(cluster: Any) -> None:
    node = cluster.add_node(num_cpus=2, memory=4 * GIB, object_store_memory=100 * 2**20)
    killed: list[bool] = []

    def kill(rows: pa.Table) -> None:
        if not killed:
            killed.append(True)
            cluster.remove_node(node, allow_graceful=False)

    table, watched = Table(kill), Quiet()
    jobs = [job(f"job{i}", 0.1, sleep=0.05) for i in range(120)]
    done = run(settings(address=cluster.address), Jobs(jobs), table, watched)
    assert killed
    assert done.outcomes == {"ok": 120}
    assert len(table.by_key()) == 120
    assert any("lost" in text for text in watched.messages)


def test_scores_do_not_depend_on_the_number_of_slots(cluster: Any) -> None:
    found = []
    for cpus, slots in ((1, 2), (2, 1)):
        table = Table()
        jobs = [job(f"job{i}", scores=[i / 7, i / 3]) for i in range(30)]
        limits = Limits(cpus, GIB, 10.0)
        done = run(settings(address=cluster.address, limits=limits), Jobs(jobs), table, Quiet())
        assert done.slots == slots
        found.append({key: row["score"] for key, row in table.by_key().items()})
    assert found[0] == found[1]
