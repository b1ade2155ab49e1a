"""The command line's promises: one line for what is wrong, the right status, help with examples."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
    ["results", "merge"],
    ["results", "export"],
    ["ci"],
    ["ci", "size"],
    ["ci", "drift"],
    ["ci", "time"],
    ["data"],
    ["data", "list"],
    ["data", "show"],
    ["data", "score"],
    ["metatask"],
    ["metatask", "show"],
    ["metatask", "filter"],
    ["metatask", "convert"],
    ["metatask", "score"],
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
        (["sweep", "x.yaml", "--fail-on", ""], "name some of"),
        (["sweep", "x.yaml", "--results", ""], "no folder's name"),
        (["sweep", "/dev/zero"], "larger than 16 MiB"),
        (["query", "select 1", "--results", ""], "no folder's name"),
        (["query", "select 1", "--results", "nowhere"], "nowhere"),
        (["query", "select 1"], "results"),
        (["report", "--results", "nowhere"], "nowhere"),
        (["results", "check", "--results", "nowhere"], "nowhere"),
        (["results", "merge", "nowhere", "--results", "x"], "nowhere"),
        (["results", "merge", "--results", "x"], "DIR"),
        (["data", "list", "nowhere.yaml"], "nowhere.yaml"),
        (["data", "score", "t", "C-LR", "good"], "good"),
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


def test_long_lists_are_cut_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow as pa

    from runner.cli.tables import print_table

    answer = pa.table({"key": ["k"], "some": [[1, 2]], "rows": [list(range(1000))]})
    print_table(answer)
    assert "998, 999]" in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for width in ("200", "40"):
        monkeypatch.setenv("COLUMNS", width)
        print_table(answer)
        out = capsys.readouterr().out
        assert "[1, 2]" in out
        assert "... (1000 values)" in out
        assert "999" not in out


def in_shell(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A script in which ``runner`` is the program."""
    program = f'runner() {{ "{sys.executable}" -m runner "$@"; }}; '
    return subprocess.run(
        ["bash", "-c", program + script],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def store(tmp_path: Path) -> Path:
    Store.create(tmp_path / "store")
    return tmp_path / "store"


def test_a_closed_output_swallows_the_answer(store: Path) -> None:
    ended = in_shell('runner query "select 1" --results store >&-', store.parent)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("style", ["csv", "table"])
def test_a_reader_who_leaves_is_no_failure(store: Path, style: str) -> None:
    query = f'runner query "from range(200000)" --format {style} --results store'
    ended = in_shell(f"set -o pipefail; {query} | head -1", store.parent)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_narrow_encoding_escapes_what_it_has_no_sign_for(store: Path) -> None:
    query = "runner query \"select 'é' as x\" --format csv --results store"
    ended = in_shell(query, store.parent, PYTHONIOENCODING="ascii")
    assert (ended.returncode, ended.stdout) == (0, "x\n\\xe9\n")


def test_a_deleted_folder_is_told(store: Path) -> None:
    script = f'mkdir gone; cd gone; rmdir ../gone; runner query "select 1" --results "{store}"'
    ended = in_shell(script, store.parent)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: the current folder was deleted")


def test_of_a_long_table_the_beginning_is_shown(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of("query", "from range(1500)", "--results", str(store)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("... and 500 more rows")
    assert [line.strip() for line in lines if line.strip().isdigit()] == [
        str(number) for number in range(1000)
    ]
