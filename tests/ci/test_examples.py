"""The workflows in docs/ci call commands that there are, with options that they have."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from textwrap import dedent

import click
import pytest
from ruamel.yaml import YAML

from runner.ci import load_ci_file
from runner.cli.main import cli

FOLDER = Path(__file__).parents[2] / "docs" / "ci"


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.name)
def test_a_workflow_says_what_can_be_run(path: Path) -> None:
    text = path.read_text()
    if path.suffix == ".yml":
        document = YAML(typ="safe", pure=True).load(text)
        assert "jobs" in document or "predict" in document or "verdict" in document
    joined = re.sub(r"\n +--", " --", text)
    for line in re.findall(r"runner ci .*", joined):
        arguments = shlex.split(re.split(r" > | \|\| ", line)[0])[1:]
        with cli.make_context("runner", arguments, resilient_parsing=True) as context:
            group = cli.get_command(context, "ci")
            assert isinstance(group, click.Group)
            command = group.get_command(context, arguments[1])
            assert command is not None
            command.make_context(arguments[1], arguments[2:])


def test_the_examples_on_the_page_are_whole(tmp_path: Path) -> None:
    page = (FOLDER.parent / "ci.md").read_text()
    blocks = re.findall(r"(?:^    .+\n)+", page, re.MULTILINE)
    files = [dedent(block) for block in blocks if "reliability" in block]
    paths = [tmp_path / ".travis.yml", tmp_path / "ci.yaml"]
    for path, text in zip(paths, files, strict=True):
        path.write_text(text)
    first, whole = map(load_ci_file, paths)
    assert first.guarantee == whole.guarantee
    assert first.testset is None
    assert whole.testset is not None
    assert whole.ledger is not None
    assert whole.alarm.mail is not None


def test_there_are_such_lines() -> None:
    found = [p.name for p in FOLDER.iterdir() if "runner ci test" in p.read_text()]
    assert sorted(found) == ["crontab", "github.yml", "gitlab-verdict.yml"]
