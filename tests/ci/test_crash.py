"""Steps under kills and in a crowd: none is lost, none is counted twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from ci_scenes import Scene

from runner.ci import load_ci_file
from runner.ci.ledgers import begun_accounts

KILLED = Path(__file__).with_name("killed_steps.py")


@pytest.mark.parametrize(
    ("way", "count"), [pytest.param("clock", 50, marks=pytest.mark.slow), ("calls", 22)]
)
def test_a_kill_loses_no_step_and_counts_none_twice(tmp_path: Path, way: str, count: int) -> None:
    scene = Scene(tmp_path, rows=700, condition="n > 0.7 +/- 0.2")
    scene.write(steps=60)
    scene.predictions(1, "warm.csv")
    rights = [(698 if i % 2 else 2) + i // 2 * (-1 if i % 2 else 1) for i in range(count)]
    for i, right in enumerate(rights):
        scene.predictions(right, f"new-{i}.csv")
    done = subprocess.run(
        [sys.executable, str(KILLED), str(tmp_path), way, str(count)],
        capture_output=True,
        text=True,
        check=True,
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == count
    # The warm one is the first step.
    for before, (i, (shown, used, again, after)) in enumerate(enumerate(told), start=1):
        verdict = "pass" if i % 2 else "fail"
        assert again.startswith(verdict)
        assert after == before + 1
        assert used in (before, after)
        if shown:
            # Recorded before it was shown, and the same when asked for again.
            assert used == after
            assert shown.startswith(verdict)
    kills = [not shown for shown, *_ in told]
    assert any(kills)
    if way == "calls":
        # Some before the line was whole, some after it.
        assert {used - before for before, (_, used, *_) in enumerate(told, start=1)} == {0, 1}


@pytest.mark.parametrize("callers", [2, 6])
def test_one_step_left_and_several_who_want_it(tmp_path: Path, callers: int) -> None:
    scene = Scene(tmp_path)
    file = scene.write(steps=1)
    commands = [
        [sys.executable, "-m", "runner", "ci", "test", str(file), "--new", str(new)]
        for new in (scene.predictions(600 + i) for i in range(callers))
    ]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for command in commands
    ]
    ended = [(process.communicate()[0], process.returncode) for process in processes]
    assert sorted(code for _, code in ended) == [0] + [3] * (callers - 1)
    assert [out.split(":")[0] for out, code in ended if code == 0] == ["pass"]
    assert [out for out, code in ended if code == 3] == [""] * (callers - 1)
    ((_, account),) = begun_accounts(load_ci_file(file))
    assert account.used == 1
