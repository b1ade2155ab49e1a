"""The sandbox's promises, against well-behaved and hostile works, on every limiter."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sandbox_helpers import MIB, PATIENT, Run, none_left, told, work

from runner.sandbox import InProcess, Means, Result, Sandbox, Work, execution, probe


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
    # A warm-up longer than the limit.
    result = run("nothing", warm_up="sandbox_works:warm", seconds=1)
    assert told(result) == ("ok", None)
    assert "warming up" in result.log_tail


def test_a_failing_warm_up_is_an_error(run: Run) -> None:
    result = run("nothing", warm_up="sandbox_works:failing_warm_up")
    assert told(result) == ("error", "LookupError")
    assert result.findings[0].wall_seconds is None


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


def test_shared_memory_counts(run: Run) -> None:
    assert told(misbehave(run, "fill_shared_memory", 300)) == ("memory", "memory")


def test_a_request_that_cannot_be_met_is_memory(run: Run) -> None:
    outcome, reason = told(misbehave(run, "ask_for_the_impossible"))
    assert outcome == "memory"
    assert reason is not None
    assert reason.endswith("MemoryError")


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


def test_each_evaluation_has_the_limit_by_its_own_clock(run: Run) -> None:
    # 0.3 s of fitting and 1.5 s of scoring: past 1.5 s together, within it each.
    plan = [(0.1, 0.5)] * 3
    result = run("scoring", plan, 3, seconds=1.5)
    assert [finding.outcome for finding in result.findings] == ["ok"] * 3
    assert result.usage.wall_seconds > 1.5
    for index, finding in enumerate(result.findings):
        assert 0.1 * (index + 1) + 0.5 <= finding.wall_seconds <= 1.5


def test_a_function_is_called_once_before_any_child_is_forked(core: int) -> None:
    with Sandbox([core], preload=["sandbox_works:note_call"]) as box:
        told_twice = [box.run(work("tell_calls"), PATIENT).findings[0].fields for _ in range(2)]
    assert [fields["calls"] for fields in told_twice] == [1, 1]
    assert len({fields["pid"] for fields in told_twice}) == 1


def test_an_endless_warm_up_is_a_timeout(
    run: Run, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "WARM_UP_SECONDS", 1.0)
    result = run("nothing", warm_up="sandbox_works:endless_warm_up", seconds=0.5)
    (finding,) = result.findings
    assert (finding.outcome, finding.reason) == ("timeout", "warm-up")
    assert finding.error == "in the warm-up, before the clock"
    assert finding.wall_seconds is None
    assert result.usage.cpu_seconds is None
    assert none_left(sandbox)


def test_a_death_in_the_warm_up_says_so(run: Run) -> None:
    (finding,) = run("nothing", warm_up="sandbox_works:leaving_warm_up").findings
    assert (finding.outcome, finding.reason) == ("crash", "exit 3")
    assert finding.error == "in the warm-up, before the clock"
    assert finding.wall_seconds is None


def test_time_spent_on_others_models_is_spared(run: Run) -> None:
    # The clock shows 1.6 s at the second one's end, of which 1 s wasn't its own.
    result = run("sparing", [(1.0, 0.0), (0.6, 1.0), (30, 0.5)], 3, seconds=1.5)
    assert [finding.outcome for finding in result.findings] == ["ok", "ok", "timeout"]
    assert 0.6 <= result.findings[1].wall_seconds <= 1.5


def test_the_rest_of_a_shared_fit_times_out_alone(run: Run) -> None:
    result = run("scoring", [(0.1, 0.5), (0.1, 0.0), (30, 0)], 3, seconds=1.2)
    assert [finding.outcome for finding in result.findings] == ["ok", "ok", "timeout"]


@pytest.mark.parametrize(
    ("how", "argument"), [("fork_again_and_again", None), ("fork_a_crowd", 200)]
)
def test_a_tree_that_grows_while_it_is_killed(
    run: Run, sandbox: Sandbox, how: str, argument: Any
) -> None:
    assert told(misbehave(run, how, argument, seconds=1)) == ("timeout", "wall")
    assert none_left(sandbox)


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
    assert none_left(sandbox)


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
