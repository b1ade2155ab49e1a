"""What sharing fits saves, and whether its times are honest: ``python -m benchmarks.sharing``.

Runs the quickstart's study twice in fresh folders, with shared and with separate fits, and compares
scores bit for bit, fit_seconds configuration by configuration, and the CPU seconds of the whole.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.machine import description
from runner.store import Store

STUDY = Path(__file__).parents[1] / "configs/quickstart.yaml"

_ROWS = """
    SELECT system, configuration, fold, score, fit_seconds FROM evaluations WHERE stage = 'cv'
"""
# A job's CPU seconds stand in the row of each of its evaluations.
_CPU = """
    SELECT system, sum(cpu_seconds / shared_with) AS seconds FROM evaluations
    WHERE stage = 'cv' GROUP BY system
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        shared = _run(Path(folder), share_fits=True)
        separate = _run(Path(folder), share_fits=False)
        _compare(shared, separate)


def _run(folder: Path, *, share_fits: bool) -> Store:
    name = "shared" if share_fits else "separate"
    study = folder / f"{name}.yaml"
    study.write_text(STUDY.read_text() + f"\nshare_fits: {str(share_fits).lower()}\n")
    results = folder / name
    subprocess.run(
        [sys.executable, "-m", "runner", "sweep", str(study), "--results", str(results), "--json"],
        check=True,
    )
    return Store.open(results)


def _compare(shared: Store, separate: Store) -> None:
    together = {_name(row): row for row in shared.query(_ROWS).to_pylist()}
    alone = {_name(row): row for row in separate.query(_ROWS).to_pylist()}
    assert together.keys() == alone.keys()
    assert all(row["score"] == alone[name]["score"] for name, row in together.items())
    unshared = {row["system"]: row["seconds"] for row in separate.query(_CPU).to_pylist()}
    spent = {row["system"]: row["seconds"] for row in shared.query(_CPU).to_pylist()}
    print(f"{description()}\n")
    print("| system | fit_seconds shared / separate, median | CPU separate / shared |")
    print("|---|---|---|")
    for system in sorted(spent):
        ratios = [
            row["fit_seconds"] / alone[name]["fit_seconds"]
            for name, row in together.items()
            if name[0] == system
        ]
        print(f"| {system} | {median(ratios):.2f} | {unshared[system] / spent[system]:.2f} |")
    print(f"\n{len(together)} scores equal bit for bit.")


def _name(row: dict[str, str]) -> tuple[str, str, str]:
    return row["system"], row["configuration"], row["fold"]


if __name__ == "__main__":
    main()
