"""What a sweep leaves, from the command line, on a real Ray with real sandboxes."""

from __future__ import annotations

import os
import signal
import statistics
import time
from typing import Any

import psutil
import pytest

from runner.store import Store

# The fixtures' module isn't importable by name under importlib mode, so constants stand here.
SMALL_CV = 5 * (2 * 2 * 3 + 2 * 2 * 2)
SMALL_PLANNED = SMALL_CV + 2


def test_a_fresh_folder_gets_every_evaluation_once(undisturbed: Any) -> None:
    folder, _, said = undisturbed
    assert said == {
        "planned": SMALL_PLANNED,
        "reused": 0,
        "computed": SMALL_PLANNED,
        "outcomes": {"ok": SMALL_PLANNED},
    }
    rows = folder.query(
        "results", "select stage, system, count(*) as n from attempts group by all order by all"
    )
    assert rows == [
        {"stage": "cv", "system": "C-BDT", "n": 60},
        {"stage": "cv", "system": "C-LR", "n": 40},
        {"stage": "test", "system": "C-BDT", "n": 1},
        {"stage": "test", "system": "C-LR", "n": 1},
    ]


def test_the_same_study_again_computes_nothing(undisturbed: Any) -> None:
    folder, study, _ = undisturbed
    before = folder.query("results", "select count(*) as n from attempts")
    again = folder.sweep(study, "results")
    assert (again["planned"], again["reused"], again["computed"]) == (
        SMALL_PLANNED,
        SMALL_PLANNED,
        0,
    )
    assert folder.query("results", "select count(*) as n from attempts") == before


def test_one_slot_gives_the_same_bits_as_two(undisturbed: Any, folder: Any) -> None:
    original, study, _ = undisturbed
    core = min(os.sched_getaffinity(0))
    said = folder.sweep(study, "one", preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    assert said["computed"] == said["planned"] == SMALL_PLANNED
    assert folder.scores("one") == original.scores("results")


def test_separate_fits_give_the_same_bits_as_shared_ones(undisturbed: Any, folder: Any) -> None:
    original, study, _ = undisturbed
    separate = folder.study(study.read_text() + "share_fits: false\n")
    said = folder.sweep(separate, "separate")
    assert said["computed"] == said["planned"] == SMALL_PLANNED
    sql = "select system, configuration, fold, score, fit_seconds, shared_with from evaluations"
    columns = ("system", "configuration", "fold")
    ours = {tuple(row[c] for c in columns): row for row in original.query("results", sql)}
    theirs = {tuple(row[c] for c in columns): row for row in folder.query("separate", sql)}
    assert {k: row["score"] for k, row in ours.items()} == {
        k: row["score"] for k, row in theirs.items()
    }
    assert {row["shared_with"] for row in theirs.values()} == {1}
    assert {row["shared_with"] for row in ours.values()} == {1, 2, 3}


def test_training_time_rises_along_a_shared_fit(undisturbed: Any) -> None:
    folder, _, _ = undisturbed
    rows = folder.query(
        "results",
        """select list(fit_seconds order by (configuration->>'trees')::int) as seconds
        from evaluations where system = 'C-BDT' and stage = 'cv'
        group by fold, configuration->>'leaves', configuration->>'learning_rate'""",
    )
    assert len(rows) == 20
    for row in rows:
        assert row["seconds"] == sorted(set(row["seconds"]))
        assert len(row["seconds"]) == 3


def test_the_selection_is_the_best_mean_and_its_refit_is_scored_on_the_test_rows(
    undisturbed: Any,
) -> None:
    folder, _, _ = undisturbed
    rows = folder.query(
        "results",
        "select system, stage, configuration, configuration_id, fold, score from evaluations",
    )
    for system in ("C-BDT", "C-LR"):
        folds: dict[int, list[float]] = {}
        for row in rows:
            if row["system"] == system and row["stage"] == "cv":
                folds.setdefault(row["configuration_id"], []).append(row["score"])
        means = {number: statistics.fmean(scores) for number, scores in folds.items()}
        best = max(means.values())
        (test,) = [r for r in rows if r["system"] == system and r["stage"] == "test"]
        assert test["fold"] is None
        assert means[test["configuration_id"]] == pytest.approx(best, abs=1e-15)


@pytest.mark.slow
def test_new_values_cost_only_what_is_new(undisturbed: Any, folder: Any) -> None:
    first = folder.study(
        "kind: sweep\nname: grow\ntasks: [{sklearn: breast_cancer}]\nfolds: 3\n"
        "systems:\n  - C-LR: {tolerance: [1.0e-4], l1: [0], l2: [1], memory: [5]}\n"
    )
    assert folder.sweep(first, "grow")["computed"] == 4
    first.write_text(first.read_text().replace("l2: [1]", "l2: [1, 0.1]"))
    said = folder.sweep(first, "grow")
    assert said["planned"] == 7
    assert said["computed"] in (3, 4)  # a new refit only if another configuration is best now


def _descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def _wait_for_rows(folder: Any, results: str, count: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if (folder.path / results / "attempts/_delta_log").exists():
            rows = Store.open(folder.path / results).query("select count(*) as n from attempts")
            if rows["n"][0].as_py() >= count:
                return
        time.sleep(0.2)
    raise AssertionError("no rows came")


def _gone(processes: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]


def test_a_killed_driver_loses_only_the_work_in_flight(undisturbed: Any, folder: Any) -> None:
    original, study, _ = undisturbed
    driver = folder.start("sweep", study, "--results", "killed")
    _wait_for_rows(folder, "killed", 10)
    family = _descendants(driver.pid)
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    assert _gone(family, 30) == []
    kept = folder.scores("killed")
    said = folder.sweep(study, "killed")
    assert said["reused"] >= len(kept) >= 10
    assert said["reused"] + said["computed"] == SMALL_PLANNED
    assert folder.scores("killed") == original.scores("results")


def test_a_killed_worker_costs_nothing_but_time(undisturbed: Any, folder: Any) -> None:
    original, study, _ = undisturbed
    driver = folder.start("sweep", study, "--results", "worker", "--json")
    _wait_for_rows(folder, "worker", 5)
    slots = [p for p in _descendants(driver.pid) if "Slot" in " ".join(_command(p))]
    assert slots
    slots[0].kill()
    _, err = driver.communicate(timeout=300)
    assert driver.returncode == 0, err
    assert folder.scores("worker") == original.scores("results")


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_ctrl_c_keeps_what_is_done_and_says_how_to_resume(undisturbed: Any, folder: Any) -> None:
    original, study, _ = undisturbed
    driver = folder.start("sweep", study, "--results", "stopped")
    _wait_for_rows(folder, "stopped", 10)
    family = _descendants(driver.pid)
    driver.send_signal(signal.SIGINT)
    _, err = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert "resume with: runner sweep" in err
    assert "Traceback" not in err
    assert _gone(family, 5) == []
    assert len(folder.scores("stopped")) >= 10
    folder.sweep(study, "stopped")
    assert folder.scores("stopped") == original.scores("results")


def test_outcomes_that_are_not_ok_are_rows_and_the_study_goes_on(folder: Any) -> None:
    study = folder.study(
        "kind: sweep\nname: hard\ntasks: [{sklearn: breast_cancer}]\nfolds: 2\n"
        "systems:\n"
        "  - C-BDT: {leaves: [8], min_leaf: [1], learning_rate: [1.0e-4], trees: [20, 1000000]}\n"
        "sandbox: {seconds: 2}\n"
    )
    said = folder.sweep(study, "hard")
    assert said["outcomes"] == {"ok": 3, "timeout": 2}
    done = folder.run("sweep", study, "--results", "hard", "--fail-on", "timeout")
    assert done.returncode == 1
    (row,) = folder.query(
        "hard", "select distinct reason, limit_seconds from evaluations where outcome = 'timeout'"
    )
    assert row == {"reason": "wall", "limit_seconds": 2.0}


@pytest.mark.slow
def test_a_timeout_is_computed_again_under_a_longer_limit_or_when_asked(folder: Any) -> None:
    text = (
        "kind: sweep\nname: again\ntasks: [{sklearn: breast_cancer}]\nfolds: 2\n"
        "systems:\n"
        "  - C-BDT: {leaves: [8], min_leaf: [1], learning_rate: [1.0e-4], trees: [4000]}\n"
        "sandbox: {seconds: 0.05}\n"
    )
    study = folder.study(text)
    assert folder.sweep(study, "again")["outcomes"] == {"timeout": 2}
    study.write_text(text.replace("0.05", "0.01"))
    said = folder.sweep(study, "again")
    assert (said["reused"], said["computed"]) == (2, 0)
    said = folder.sweep(study, "again", "--rerun", "timeout")
    assert (said["reused"], said["computed"]) == (0, 2)
    study.write_text(text.replace("0.05", "300"))
    said = folder.sweep(study, "again")
    assert (said["reused"], said["computed"], said["outcomes"]) == (0, 3, {"ok": 3})
    attempts = folder.query("again", "select attempt, outcome from attempts where stage = 'cv'")
    assert sorted((row["attempt"], row["outcome"]) for row in attempts) == [
        (1, "timeout"),
        (1, "timeout"),
        (2, "timeout"),
        (2, "timeout"),
        (3, "ok"),
        (3, "ok"),
    ]


@pytest.mark.slow
def test_predictions_are_kept_where_asked(folder: Any) -> None:
    study = folder.study(
        "kind: sweep\nname: kept\ntasks: [{sklearn: breast_cancer}]\nfolds: 3\n"
        "systems:\n  - C-LR: {tolerance: [1.0e-4], l1: [0], l2: [1], memory: [5]}\n"
    )
    folder.sweep(study, "kept")
    study.write_text(study.read_text() + "predictions: true\n")
    assert folder.sweep(study, "kept")["computed"] == 4
    rows = folder.query(
        "kept",
        """select len(row_ids) as n, len(confidences) as c, len(labels) as l, classes, stage
        from predictions join evaluations using (key) order by stage, n""",
    )
    assert sum(row["n"] for row in rows) == 569
    assert all(row["c"] == 2 * row["n"] == 2 * row["l"] for row in rows)


def test_a_sandbox_larger_than_the_machine_is_status_3(folder: Any) -> None:
    study = folder.study(
        "kind: sweep\nname: big\ntasks: [{sklearn: breast_cancer}]\nfolds: 2\n"
        "systems: [C-LR]\nsandbox: {cpus: 1, memory: 90TB}\n"
    )
    done = folder.run("sweep", study, "--results", "big")
    assert done.returncode == 3
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


def test_an_address_where_no_ray_is_ends_soon(folder: Any) -> None:
    study = folder.study(
        "kind: sweep\nname: far\ntasks: [{sklearn: breast_cancer}]\nfolds: 2\nsystems: [C-LR]\n"
    )
    done = folder.run("sweep", study, "--results", "far", "--address", "127.0.0.1:9")
    assert done.returncode == 2
    assert "127.0.0.1:9" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_plan_computes_nothing(folder: Any) -> None:
    study = folder.study(
        "kind: sweep\nname: plan\ntasks: [{sklearn: breast_cancer}]\nfolds: 5\n"
        "systems: [C-BDT, C-LR]\n"
    )
    done = folder.run("sweep", study, "--results", "plan", "--plan")
    assert done.returncode == 0
    assert "1262 evaluations" in done.stdout
    assert not (folder.path / "plan").exists()
    (folder.path / "made").mkdir()
    assert folder.run("sweep", study, "--results", "made", "--plan").returncode == 0
    assert not any((folder.path / "made").iterdir())


# A noisy machine is waited for a minute.
@pytest.mark.slow
def test_exclusive_and_repeated_times(folder: Any) -> None:
    study = folder.study(
        "kind: sweep\nname: times\ntasks: [{sklearn: breast_cancer}]\nfolds: 2\n"
        "systems:\n  - C-LR: {l1: [0], l2: [0.1, 1], memory: [20], tolerance: [1e-4, 1e-7]}\n"
        "timing: exclusive\nrepeats: 2\n"
    )
    said = folder.sweep(study, "times")
    assert said["planned"] == said["computed"] == 2 * (4 * 2 + 1)
    rows = folder.query("times", "select * from evaluations")
    for row in rows:
        assert (row["timing"], row["outcome"]) == ("exclusive", "ok")
        assert row["quiet"] in (True, False)
        assert row["timed_fits"] > 1
        assert 0 < row["fit_seconds_min"] <= row["fit_seconds"] < 0.2
    by_evaluation: dict[Any, set[tuple[int, float]]] = {}
    for row in rows:
        name = row["stage"], row["configuration_id"], row["fold"]
        by_evaluation.setdefault(name, set()).add((row["repeat"], row["score"]))
    for found in by_evaluation.values():
        assert {repeat for repeat, _ in found} == {0, 1}
        assert len({score for _, score in found}) == 1
    assert folder.sweep(study, "times")["computed"] == 0
    done = folder.run("report", "--results", "times")
    assert "packed" not in done.stdout
