"""The sandbox's promises, against well-behaved and hostile works, on every limiter."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sandbox_helpers import MIB, PATIENT, Run, groups, only_zygote_left, processes, told, work

from runner.sandbox import InProcess, Means, Result, Sandbox, Work, probe, procfs, sweep_leftovers


def misbehave(run: Run, how: str, argument: Any = None, **rest: Any) -> Result:
    """Run ``how`` after a first evaluation, which must stand whatever came later."""
    result = run("recorded_then", (how, argument), 2, **rest)
    assert told(result, 0) == ("ok", None), result
    assert result.findings[0].fields == {"score": 0.5}
    return result


def test_fields_and_predictions_come_back(run: Run, tmp_path: Path) -> None:
    arrays = {
        "plain": np.arange(12, dtype="f4").reshape(3, 4),
        "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "text": np.array(["a", "zwölf"]),
        "empty": np.empty((0, 3)),
    }
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    fields = {"score": 0.25, "count": 3, "text": "ja", "missing": None, "limit": float("inf")}
    result = run("echo", fields, arrays=str(tmp_path))
    assert told(result) == ("ok", None)
    assert result.findings[0].fields == fields
    predictions = result.findings[0].predictions
    assert predictions is not None
    assert set(predictions) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(predictions[name], array)
        assert predictions[name].dtype == array.dtype


def test_a_field_that_is_no_number_or_text_is_an_error_that_names_it(run: Run) -> None:
    result = run("echo", {"score": [1, 2]})
    assert told(result) == ("error", "TypeError")
    assert "'score'" in str(result.findings[0].error)


def test_the_clock_starts_after_the_warm_up(run: Run) -> None:
    result = run("nothing", warm_up="sandbox_works:warm")
    assert told(result) == ("ok", None)
    assert result.usage.wall_seconds < 0.3
    assert "warming up" in result.log_tail


def test_a_failing_warm_up_is_an_error(run: Run) -> None:
    result = run("nothing", warm_up="sandbox_works:failing_warm_up")
    assert told(result) == ("error", "LookupError")
    assert result.findings[0].wall_seconds == 0


@pytest.mark.parametrize("function", ["sandbox_works:missing", "no.such.module:f", "sandbox_works"])
def test_a_function_that_is_not_there_is_an_error(sandbox: Sandbox, function: str) -> None:
    result = sandbox.run(Work(function, pickle.dumps(None), 1), PATIENT)
    assert result.findings[0].outcome == "error"


def test_global_generators_depend_on_the_work_alone(run: Run) -> None:
    first, again = run("random_numbers", 1), run("random_numbers", 1)
    assert first.findings[0].fields == again.findings[0].fields
    assert first.findings[0].fields != run("random_numbers", 2).findings[0].fields


def test_surroundings(run: Run) -> None:
    result = run("surroundings")
    assert told(result) == ("ok", None)
    fields = result.findings[0].fields
    assert (fields["cores"], fields["threads"]) == (1, "1")
    assert not Path(fields["folder"]).exists()


def test_allocation_past_the_limit_is_memory(run: Run) -> None:
    result = misbehave(run, "allocate", 400)
    assert told(result) == ("memory", "memory")
    assert result.usage.oom_kills
    assert result.usage.peak_mib is not None
    assert 190 <= result.usage.peak_mib <= 300


def test_two_children_jointly_past_the_limit_are_memory(run: Run) -> None:
    assert told(misbehave(run, "allocate_jointly", 120)) == ("memory", "memory")


def test_shared_memory_counts(run: Run) -> None:
    assert told(misbehave(run, "fill_shared_memory", 300)) == ("memory", "memory")


def test_files_in_shared_memory_count_where_a_group_limits_memory(
    run: Run, sandbox: Sandbox
) -> None:
    result = misbehave(run, "fill_shared_file", 300)
    if sandbox.enforced["memory"] == "rlimit+watchdog":
        # It sees what is mapped; the row says that it was only a watchdog.
        assert told(result) == ("crash", "no result")
    else:
        assert told(result) == ("memory", "memory")


def test_a_request_that_cannot_be_met_is_memory(run: Run) -> None:
    outcome, reason = told(misbehave(run, "ask_for_the_impossible"))
    assert outcome == "memory"
    assert reason is not None
    assert reason.endswith("MemoryError")


def test_reading_a_file_larger_than_the_limit_is_ok(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_bytes(bytes(64 * MIB))
    # Out of the page cache, so that the child is charged for reading it.
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    result = run("sum_file", str(file), memory=40 * MIB)
    assert told(result) == ("ok", None)
    assert result.findings[0].fields == {"size": 64 * MIB}


def test_a_mapped_array_larger_than_the_limit_is_ok(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "large.npy", np.zeros(64 * MIB, np.uint8))
    result = run("nothing", arrays=str(tmp_path), memory=40 * MIB)
    assert told(result) == ("ok", None)


def test_peak_and_baseline(run: Run) -> None:
    usage = run("touch", 100).usage
    assert usage.peak_mib is not None
    assert usage.baseline_mib is not None
    assert 98 <= usage.peak_mib - usage.baseline_mib <= 115


def test_cpu_time_and_wall_time(run: Run) -> None:
    usage = run("spin", 0.5).usage
    assert usage.cpu_seconds is not None
    assert 0.48 <= usage.cpu_seconds <= 0.6
    assert usage.wall_seconds >= usage.cpu_seconds - 0.05
    assert usage.cpu_seconds == pytest.approx(
        (usage.user_seconds or 0) + (usage.system_seconds or 0)
    )


def test_sleeping_past_the_limit_with_signals_ignored_is_timeout(run: Run) -> None:
    result = misbehave(run, "ignore_signals_and_sleep", 60, seconds=0.5)
    assert told(result) == ("timeout", "wall")
    assert result.findings[1].wall_seconds >= 0.5


def test_each_evaluation_has_the_limit_by_its_own_clock(run: Run) -> None:
    # 0.3 s of fitting and 0.75 s of scoring: past 0.6 s together, within it each.
    plan = [(0.1, 0.25)] * 3
    result = run("scoring", plan, 3, seconds=0.6)
    assert [finding.outcome for finding in result.findings] == ["ok"] * 3
    for index, finding in enumerate(result.findings):
        assert finding.wall_seconds == pytest.approx(0.1 * (index + 1) + 0.25, abs=0.1)


def test_the_rest_of_a_shared_fit_times_out_alone(run: Run) -> None:
    result = run("scoring", [(0.1, 0.3), (0.1, 0.0), (5, 0)], 3, seconds=0.6)
    assert [finding.outcome for finding in result.findings] == ["ok", "ok", "timeout"]


def test_daemons_do_not_survive(run: Run) -> None:
    misbehave(run, "daemonise")
    assert only_zygote_left()


def test_daemons_do_not_survive_a_timeout(run: Run) -> None:
    assert told(misbehave(run, "daemonise_and_hang", seconds=0.5)) == ("timeout", "wall")
    assert only_zygote_left()


@pytest.mark.parametrize(
    ("how", "argument"), [("fork_again_and_again", None), ("fork_a_crowd", 100)]
)
def test_a_tree_that_grows_while_it_is_killed(run: Run, how: str, argument: Any) -> None:
    assert told(misbehave(run, how, argument, seconds=1)) == ("timeout", "wall")
    assert only_zygote_left()


@pytest.mark.parametrize(
    ("how", "argument", "expected"),
    [
        ("segfault", None, ("crash", "signal 11")),
        ("leave", 3, ("crash", "exit 3")),
        ("leave", 0, ("crash", "no result")),
        ("leave_politely", 4, ("crash", "exit 4")),
        ("return_early", None, ("crash", "no result")),
        ("fail", "two\nlines", ("error", "ValueError")),
    ],
)
def test_ends_without_a_result(
    run: Run, how: str, argument: Any, expected: tuple[str, str]
) -> None:
    assert told(misbehave(run, how, argument)) == expected


def test_an_error_has_its_text_in_one_line_and_its_traceback_in_the_log(run: Run) -> None:
    result = misbehave(run, "fail", "two\nlines")
    assert result.findings[1].error == "two lines"
    assert "Traceback" in result.log_tail
    assert "sandbox_works.py" in result.log_tail


@pytest.mark.parametrize("text", ["a file named \udce9", "x" * 100_000])
def test_an_error_can_be_written_to_a_row_whatever_its_text(run: Run, text: str) -> None:
    error = misbehave(run, "fail", text).findings[1].error
    assert error is not None
    assert 0 < len(error.encode()) < 3000


def test_a_flood_of_output_neither_blocks_nor_grows(run: Run) -> None:
    result = misbehave(run, "flood", 100)
    assert told(result) == ("error", "RuntimeError")
    assert len(result.log_tail) <= 64 << 10
    assert "the last words" in result.log_tail


FORGERIES = {
    "noise": b"\xff" * 100,
    "huge": (1 << 19).to_bytes(4, "big") + (1 << 40).to_bytes(8, "big") + b"x" * 100,
    "not JSON": (4).to_bytes(4, "big") + (0).to_bytes(8, "big") + b"{{{{",
    "deep": (900_000).to_bytes(4, "big") + (0).to_bytes(8, "big") + b"[" * 900_000,
    "out of turn": (27).to_bytes(4, "big")
    + (0).to_bytes(8, "big")
    + b'{"kind":"record","index":7}',
}


@pytest.mark.parametrize("data", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_message_is_a_crash(run: Run, data: bytes) -> None:
    assert told(misbehave(run, "forge", data)) == ("crash", "result")


def test_a_killed_zygote_is_infra_and_the_next_run_works(run: Run) -> None:
    result = misbehave(run, "kill_the_zygote")
    assert told(result) == ("infra", "zygote")
    assert processes(os.getpid()) == []
    assert told(run("nothing")) == ("ok", None)


def test_lightgbm_with_more_threads_than_cores(core: int) -> None:
    with Sandbox([core], preload=["sandbox_works", "lightgbm"]) as sandbox:
        one, four = (
            sandbox.run(work("lightgbm_with_four_threads", threads), PATIENT) for threads in (1, 4)
        )
    assert told(one) == told(four) == ("ok", None)
    # Threads that spin while they wait would take eighty times as long.
    ratio = four.findings[0].fields["fit_seconds"] / one.findings[0].fields["fit_seconds"]
    assert ratio < 8


def test_a_cpuset_cannot_be_left(run: Run, sandbox: Sandbox) -> None:
    result = run("widen_affinity")
    if sandbox.enforced["cpu"] == "cpuset":
        assert result.findings[0].fields == {"cores": 1}


def test_a_big_zygote_does_not_inflate_the_peak(core: int) -> None:
    with Sandbox([core], preload=["sandbox_works", "lightgbm", "pandas"]) as sandbox:
        peak = sandbox.run(work("touch", 50), PATIENT).usage.peak_mib
    assert peak is not None
    assert 48 <= peak <= 75


def test_a_module_that_cannot_be_preloaded_is_infra_and_named(core: int) -> None:
    with pytest.raises(Exception, match="no_such_module"):
        Sandbox([core], preload=["no_such_module"]).start()
    result = Sandbox([core], preload=["no_such_module"]).run(work("nothing"), PATIENT)
    assert told(result) == ("infra", "zygote")
    assert "no_such_module" in str(result.findings[0].error)


def test_many_runs_leave_nothing(run: Run, sandbox: Sandbox) -> None:
    run("nothing")
    descriptors = len(os.listdir("/proc/self/fd"))
    for number in range(100):
        how = ("fail", "leave", "return_early")[number % 3]
        misbehave(run, how, number)
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert only_zygote_left()


def test_a_killed_owner_leaves_nothing(tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "killed_owner.py"), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "running\n"
    zygote, child, *daemons = sorted(processes(owner.pid))
    assert daemons
    owner.kill()
    owner.wait()
    owner.stdout.close()
    assert soon(lambda: procfs.start_time(zygote) is procfs.start_time(child) is None)
    sweep_leftovers(tmp_path)
    assert soon(lambda: processes(owner.pid) == [])
    assert list(tmp_path.glob("runner-*")) == []
    assert groups(owner.pid) == []


def soon(condition: Callable[[], bool]) -> bool:
    """Whether ``condition`` holds within five seconds."""
    give_up = time.monotonic() + 5
    while not condition():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.01)
    return True


def test_an_unprivileged_user_gets_what_the_probe_says(tmp_path: Path) -> None:
    script = Path(__file__).parent / "unprivileged.py"
    finished = subprocess.run(
        [sys.executable, "-B", str(script)], capture_output=True, text=True, timeout=60
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines()[-1] == "all as promised"


def test_in_process_has_the_same_interface() -> None:
    runner = InProcess()
    ok = runner.run(work("echo", {"score": 1.5}), PATIENT)
    assert told(ok) == ("ok", None)
    assert ok.findings[0].fields == {"score": 1.5}
    error = runner.run(work("recorded_then", ("fail", "a\nb"), 3), PATIENT)
    assert [finding.outcome for finding in error.findings] == ["ok", "error", "error"]
    assert error.findings[1].error == "a b"
    assert set(error.enforced.values()) == {"none"}
    assert told(runner.run(work("recorded_then", ("return_early", 0), 2), PATIENT)) == (
        "crash",
        "no result",
    )


def test_the_probe_finds_less_without_groups() -> None:
    assert (
        Means().enforced().items()
        >= {
            "memory": "rlimit+watchdog",
            "cpu": "affinity",
            "kill": "subreaper",
        }.items()
    )
    assert set(probe().enforced()) == set(Means().enforced())
