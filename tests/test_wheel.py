"""What a wheel brings along for those who have no checkout."""

from __future__ import annotations

import filecmp
import json
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "results" / "published" / "mlbench"
_BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
_REPORT = "from runner.cli import main; main(['report', '--published', 'mlbench', '--json'])"


def test_a_wheel_alone_can_report_the_paper(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _BUILD, str(tmp_path)], cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    here = filecmp.dircmp(PUBLISHED, installed / "runner" / "published" / "mlbench")
    assert here.same_files
    assert not here.left_only + here.right_only + here.diff_files

    # Isolated from the checkout, whose own copy would be found first.
    program = f"import sys; sys.path.insert(0, {str(installed)!r}); {_REPORT}"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], cwd=elsewhere, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["published"] == "mlbench"
    assert (elsewhere / "results" / "mlbench-paper" / "tables" / "table9.csv").is_file()
