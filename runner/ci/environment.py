"""What the environment holds: secrets that no command may inherit, and which commit it is."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from runner.ci.mail import PASSWORD_VARIABLE, USER_VARIABLE
from runner.ci.sealing import KEY_VARIABLE

_SECRETS = (KEY_VARIABLE, USER_VARIABLE, PASSWORD_VARIABLE)
# Ours, for a job that judges another's commit; then GitHub's, GitLab's and Travis's.
_COMMITS = ("RUNNER_CI_COMMIT", "GITHUB_SHA", "CI_COMMIT_SHA", "TRAVIS_COMMIT")

_LONGEST = 200


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for a command that the developer wrote."""
    return {name: value for name, value in environment.items() if name not in _SECRETS}


def current_commit(folder: Path) -> str | None:
    """The commit under test: the CI system's, or that of the folder's repository."""
    for name in _COMMITS:
        if os.environ.get(name):
            # Whoever sets it may put anything there, and it goes into mails.
            return "".join(c if c.isprintable() else "?" for c in os.environ[name])[:_LONGEST]
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
