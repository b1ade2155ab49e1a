"""What ``runner doctor`` says, against the machine as others see it."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from typing import Any

import psutil
import pytest

from runner.cli import main
from runner.sandbox import probe


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *arguments])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.fixture
def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output(capsys, "--json"))
    return found


def test_cores_and_memory(document: dict[str, Any]) -> None:
    cores, memory = document["cores"], document["memory"]
    assert cores["logical"] == psutil.cpu_count()
    assert cores["physical"] == psutil.cpu_count(logical=False)
    assert cores["usable"] == sorted(os.sched_getaffinity(0))
    assert memory["total_mib"] == psutil.virtual_memory().total >> 20
    assert memory["swap_mib"] == psutil.swap_memory().total >> 20


def test_limits_are_those_that_the_probe_finds(document: dict[str, Any]) -> None:
    means = {line["limit"]: line["means"] for line in document["limits"]}
    assert means.pop("wall") == "clock"
    assert means == probe().enforced()


def test_what_confines_an_archive_is_told_or_why_nothing_does(document: dict[str, Any]) -> None:
    archive = document["archive"]
    means = probe("archive")
    if means.jail is None:
        assert archive["problem"]
    else:
        assert archive == {"enforced": means.enforced("archive"), "problem": None}


def test_versions(document: dict[str, Any]) -> None:
    versions = document["versions"]
    assert {"python", "runner", "ray", "numpy", "scikit-learn", "lightgbm", "pyarrow"} == set(
        versions
    )
    assert versions["lightgbm"] == {"version": version("lightgbm"), "problem": None}


def test_sandboxes_are_as_many_as_cores_and_memory_hold(document: dict[str, Any]) -> None:
    room = document["sandboxes"]
    fits = psutil.virtual_memory().total // (2 * 10**9)
    assert 0 <= room["at_once"] <= min(len(os.sched_getaffinity(0)), fits)


def test_the_table_says_the_same(
    document: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    text = output(capsys)
    for line in document["limits"]:
        assert line["means"] in text
        assert line["missing"] is None or line["missing"] in text
    assert document["machine"]["kernel"] in text


def test_an_address_that_nobody_answers_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--address", "127.0.0.1:1"])
    assert ended.value.code == 2
    assert "127.0.0.1:1" in capsys.readouterr().err
