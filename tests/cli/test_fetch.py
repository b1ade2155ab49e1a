"""``runner data fetch``, against a local server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from openml_server import GARBLED, OpenmlServer

from runner.cli import main


def status_of(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_suite_is_fetched_once(
    configured_openml: OpenmlServer, capsys: pytest.CaptureFixture[str]
) -> None:
    configured_openml.suites = {"99": [59]}
    assert status_of("data", "fetch", "--openml-suite", "99", "--per-second", "100") == 0
    assert "1 of 1 tasks fetched" in capsys.readouterr().out
    asked = len(configured_openml.asked("59|61"))
    assert status_of("data", "fetch", "--openml-task", "59", "--json") == 0
    assert json.loads(capsys.readouterr().out)["fetched"] == 0
    assert len(configured_openml.asked("59|61")) == asked


def test_what_fails_is_one_line_and_the_others_are_fetched(
    configured_openml: OpenmlServer, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = ("--openml-task", "4711", "--openml-task", "59")
    assert status_of("data", "fetch", *tasks, "--per-second", "100") == 2
    told = capsys.readouterr()
    assert "1 of 2 tasks fetched" in told.out
    assert "error: OpenML has no task 4711" in told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize("number", ["0", "-5", "x"])
@pytest.mark.parametrize("command", ["data fetch", "metatask build"])
def test_only_numbers_above_0_are_tasks(
    command: str, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(*command.split(), "--openml-task", number) == 2
    assert f"{number} is no task number" in capsys.readouterr().err


def test_an_interrupted_fetch_resumes(
    configured_openml: OpenmlServer, capsys: pytest.CaptureFixture[str]
) -> None:
    configured_openml.fail("iris.arff", GARBLED, times=2)
    fetch = ("data", "fetch", "--openml-task", "59", "--per-second", "100")
    assert status_of(*fetch) == 2
    assert "checksum" in capsys.readouterr().err
    assert status_of(*fetch) == 0
    assert len(configured_openml.asked("task/59")) == 1


def test_a_study_without_openml_tasks(
    configured_openml: OpenmlServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text("kind: sweep\nname: a\ntasks: [{sklearn: iris}]\nsystems: [C-LR]\n")
    assert status_of("data", "fetch", str(study)) == 0
    assert "nothing to fetch" in capsys.readouterr().out
    assert not configured_openml.requests


def test_nothing_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("data", "fetch") == 2
    assert "--openml-suite" in capsys.readouterr().err
