"""The workflows in docs/ci call commands that there are, with options that they have."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from ruamel.yaml import YAML

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
        arguments = shlex.split(line.split(" > ")[0])[1:]
        with cli.make_context("runner", arguments, resilient_parsing=True) as context:
            group = cli.get_command(context, "ci")
            assert isinstance(group, click.Group)
            command = group.get_command(context, arguments[1])
            assert command is not None
            command.make_context(arguments[1], arguments[2:])


def test_there_are_such_lines() -> None:
    found = [p.name for p in FOLDER.iterdir() if "runner ci test" in p.read_text()]
    assert sorted(found) == ["crontab", "github.yml", "gitlab-verdict.yml"]
