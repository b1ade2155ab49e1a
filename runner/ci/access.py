"""Whether a file is kept from others: by its permissions, and by not being in a repository."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterable
from pathlib import Path

from runner.errors import CannotRunError, InputError


def check_private(path: Path, what: str) -> None:
    """Refuse a secret that others can read, in the file system or through git.

    Raises:
        CannotRunError: Says which, and what to do.
        InputError: If there is no such file.
    """
    check_permissions(path, what)
    # Of a link both ends may be in a repository.
    for found in dict.fromkeys((path.absolute(), path.resolve())):
        if _tracked(found):
            raise CannotRunError(
                f"is tracked by git, so whoever has the repository has {what}: take it out, "
                "or seal it (`runner ci seal`)",
                file=path,
            )
        if _committed(found):
            raise CannotRunError(
                f"was committed to git, so whoever has the repository has {what}: take it out of "
                "the history too, or label new rows",
                file=path,
            )


def check_permissions(path: Path, what: str) -> None:
    """Refuse a secret that others than the owner may read or write.

    Raises:
        CannotRunError: With the command that helps.
        InputError: If there is no such file.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise InputError("there is no such file", file=path) from None
    if not stat.S_ISREG(mode):
        raise InputError("is not a file", file=path)
    # Where there is an access control list the group's bits are its mask.
    if mode & (stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH):
        raise CannotRunError(
            f"others than its owner can read or write {what} (mode {stat.S_IMODE(mode):o}): "
            f"chmod 600 {path}",
            file=path,
        )


def written_by_others(folder: Path) -> bool:
    """Whether others than its owner can write to a folder that is there."""
    try:
        return bool(folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    except OSError:
        return False


def check_apart(path: Path, secrets: Iterable[Path], folder: Path) -> None:
    """Refuse what developers hand in where it is, by a link, a secret that only we can read.

    Args:
        secrets: Files.
        folder: One whose files are all secret.

    Raises:
        CannotRunError: If it is.
    """
    real = path.resolve()
    same = any(one.exists() and real.exists() and real.samefile(one) for one in secrets)
    if same or real.is_relative_to(folder.resolve()):
        raise CannotRunError("is the labels, the key or of the ledger, not predictions", file=path)


def _tracked(path: Path) -> bool:
    if not any((folder / ".git").exists() for folder in path.parents):
        return False
    if shutil.which("git") is None:
        raise CannotRunError("stands in a git repository, and there is no git to ask", file=path)
    # Added, or in the last commit and only removed since.
    if _git(path, "ls-files", "--error-unmatch", "--", path.name)[0] == 0:
        return True
    status, listed = _git(path, "ls-tree", "--name-only", "HEAD", "--", path.name)
    return status == 0 and bool(listed.strip())


def _committed(path: Path) -> bool:
    """Whether any commit that is here has a file of this name or of this content."""
    if not any((folder / ".git").exists() for folder in path.parents):
        return False
    everywhere = ("log", "--all", "--full-history", "--format=%H", "-1")
    if _git(path, *everywhere, "--", path.name)[1].strip():
        return True
    blob = _git(path, "hash-object", "--", path.name)[1].strip().decode("ascii")
    # To look for content in all commits takes long, and is rarely worth it.
    if not blob or _git(path, "cat-file", "-e", blob)[0] != 0:
        return False
    return bool(_git(path, *everywhere, f"--find-object={blob}")[1].strip())


def _git(path: Path, *arguments: str) -> tuple[int, bytes]:
    # A file of another user's repository is asked about all the same; nothing of it is run.
    options = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "--literal-pathspecs")
    # A hook or a job may point git elsewhere.
    apart = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    done = subprocess.run(
        ["git", *options, *arguments],
        cwd=path.parent,
        env=apart,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout
