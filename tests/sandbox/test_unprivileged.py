"""The trials as a user without rights: what is told as enforced there holds there (trial 18).

The user is given control groups where root has some to give, so that the trials run with and
without them.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.sandbox import cgroups

HERE = Path(__file__).parent
NOBODY = 65534

# Shows an interpreter below a closed folder, such as root's home, in the place of that folder,
# and to this command alone: $1 is the interpreter's prefix, $2 the folder, $3 a mount point.
OPEN_UP = """
mount --bind "$1" "$3"
mount -t tmpfs -o mode=755 none "$2"
mkdir -p "$1"
mount --bind "$3" "$1"
umount "$3"
shift 3
exec "$@"
"""

JOIN = """
for door in $1; do echo $$ > "$door"; done
shift
exec "$@"
"""


def as_nobody(command: list[str], folder: Path) -> list[str]:
    """``command`` run by a user without rights, who can read what it needs."""
    dropped = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]
    closed = [place for place in Path(sys.base_prefix).parents if place.stat().st_mode & 5 != 5]
    if not closed:
        return dropped
    point = folder / "prefix"
    point.mkdir()
    places = [sys.base_prefix, str(closed[-1]), str(point)]
    return ["unshare", "--mount", "sh", "-ec", OPEN_UP, "sh", *places, *dropped]


@pytest.fixture
def given_groups() -> Iterator[list[Path]]:
    """Groups of every hierarchy that belong to the user without rights."""
    made: list[cgroups.Group] = []
    for base in set(cgroups.own_bases().values()):
        with contextlib.suppress(OSError):
            made.append(cgroups.Group.make(base, f"test-given-{os.getpid()}"))
    for group in made:
        for path in (group.folder, *group.folder.iterdir()):
            os.chown(path, NOBODY, NOBODY)
    yield [group.folder for group in made]
    for group in made:
        cgroups.clear(group.folder)
        assert not group.folder.exists()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that others can pass; pytest's own are closed."""
    with tempfile.TemporaryDirectory(prefix="test-unprivileged-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.mark.parametrize(
    "which",
    [
        pytest.param("not slow", id="quick"),
        pytest.param("slow", id="all", marks=pytest.mark.slow),
    ],
)
def test_the_trials_as_nobody(which: str, open_folder: Path, given_groups: list[Path]) -> None:
    if os.getuid() != 0:
        # Then all of these tests run without rights already.
        return
    home = open_folder / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    options = ["-v", "-m", which, "-p", "no:cacheprovider", f"--basetemp={home / 'pytest'}"]
    tests = [str(HERE / name) for name in ("test_trials.py", "test_means.py")]
    command = as_nobody([sys.executable, "-B", "-m", "pytest", *options, *tests], open_folder)
    doors = [str(folder / "cgroup.procs") for folder in given_groups]
    finished = subprocess.run(
        ["sh", "-ec", JOIN, "sh", " ".join(doors), *command],
        cwd=HERE.parents[1],
        env={**os.environ, "HOME": str(home), "TMPDIR": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout[-8000:] + finished.stderr[-2000:]
    assert "skipped" not in finished.stdout.splitlines()[-1]
    if given_groups:
        assert ("[no groups]" if which == "not slow" else "[strongest]") in finished.stdout
