"""The trials as a user without rights: what is told as enforced there holds there (trial 18)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NOBODY = "65534"

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


def as_nobody(command: list[str], folder: Path) -> list[str]:
    """``command`` run by a user without rights, who can read what it needs."""
    dropped = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", *command]
    closed = [place for place in Path(sys.base_prefix).parents if place.stat().st_mode & 5 != 5]
    if not closed:
        return dropped
    point = folder / "prefix"
    point.mkdir()
    places = [sys.base_prefix, str(closed[-1]), str(point)]
    return ["unshare", "--mount", "sh", "-ec", OPEN_UP, "sh", *places, *dropped]


@pytest.mark.parametrize(
    "which",
    [
        pytest.param("not slow", id="quick"),
        pytest.param("slow", id="all", marks=pytest.mark.slow),
    ],
)
def test_the_trials_as_nobody(which: str, tmp_path: Path) -> None:
    if os.getuid() != 0:
        # Then all of these tests run without rights already.
        return
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, int(NOBODY), int(NOBODY))
    # Those that pytest made are closed to others.
    for place in (tmp_path, *tmp_path.parents[:2]):
        place.chmod(0o755)
    options = ["-q", "-m", which, "-p", "no:cacheprovider", f"--basetemp={home / 'pytest'}"]
    tests = [str(HERE / name) for name in ("test_trials.py", "test_means.py")]
    finished = subprocess.run(
        as_nobody([sys.executable, "-B", "-m", "pytest", *options, *tests], tmp_path),
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
