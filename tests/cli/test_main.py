"""The command line's promises: one line for what is wrong, the right status, help with examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.cli import main
from runner.store import Store

COMMANDS = [
    ["sweep"],
    ["report"],
    ["query"],
    ["results"],
    ["results", "compact"],
    ["results", "check"],
    ["doctor"],
]


def status_of(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(*command, "--help") == 0
    assert "Example: runner" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sweeep"], "sweep"),
        (["sweep"], "CONFIG"),
        (["sweep", "nowhere.yaml"], "nowhere.yaml"),
        (["sweep", "x.yaml", "--rerun", "tired"], "tired"),
        (["sweep", "x.yaml", "--nope"], "--nope"),
        (["query", "select 1", "--results", "nowhere"], "nowhere"),
        (["query", "select 1"], "results"),
        (["report", "--results", "nowhere"], "nowhere"),
        (["results", "check", "--results", "nowhere"], "nowhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_one_line_and_status_2(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert status_of(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("error: ")
    assert said in line


def test_a_study_of_mistakes_names_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text("kind: sweep\nname: x\ntasks:\n  - sklearn: breast_cancre\nsystems: [C-LR]\n")
    assert status_of("sweep", str(study), "--results", str(tmp_path / "r")) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {study}:4: ")
    assert "breast_cancer" in line
    assert not (tmp_path / "r").exists()


def test_an_interrupted_sweep_says_how_to_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("runner.config.load_study", interrupted)
    assert status_of("sweep", "my study.yaml", "--results", "r") == 130
    # After the ^C that a terminal shows comes an empty line.
    assert capsys.readouterr().err.splitlines() == [
        "",
        "error: interrupted",
        "resume with: runner sweep 'my study.yaml' --results r",
    ]


def test_json_has_no_numbers_that_json_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Store.create(tmp_path / "r")
    sql = "select 'nan'::double as a, ['inf'::double, 1] as b, {'c': '-inf'::double} as d"
    assert status_of("query", sql, "--results", str(tmp_path / "r"), "--json") == 0
    (row,) = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert row == {"a": None, "b": ["inf", 1.0], "d": {"c": "-inf"}}


def test_a_folder_of_something_else_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "diary.txt").write_text("mine")
    study = tmp_path / "study.yaml"
    study.write_text("kind: sweep\nname: x\ntasks: [{sklearn: breast_cancer}]\nsystems: [C-LR]\n")
    assert status_of("sweep", str(study), "--results", str(tmp_path / "r")) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "diary.txt" in line
    assert [path.name for path in (tmp_path / "r").iterdir()] == ["diary.txt"]


def test_values_of_every_kind_print_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow as pa

    from runner.cli.tables import plain, print_table

    answer = pa.table({"n": [1, None], "text": ["[red]", "x" * 300]})
    print_table(answer)
    out = capsys.readouterr().out
    # Into a pipe each row is one line, and nothing is taken for markup.
    assert [line.split() for line in out.splitlines() if "x" * 300 in line] == [["x" * 300]]
    assert "[red]" in out
    interval = pa.scalar((0, 1, 28_847_351_000), pa.month_day_nano_interval()).as_py()
    assert plain(interval) == "1 day, 0:00:28.847351"
    assert plain(None) == ""
