"""``method: sequential`` on files and a ledger: label, ask again, and one step in the end."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from runner.ci import load_ci_file
from runner.ci.sequential import make_sequential_plan
from runner.cli import main

FILE = """\
condition: n - o > 0.02 +/- 0.06
reliability: 0.95
mode: fp-free
adaptivity: full
steps: 2
difference: 0.3
method: sequential
testset: {name: first, labels: labels.csv}
"""


def write(path: Path, name: str, values: list[str]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["id", name], *([str(i), v] for i, v in enumerate(values))])
    path.chmod(0o600)


def ran(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["ci", *map(str, arguments)])
    return int(ended.value.code or 0)


def test_labels_come_until_the_verdict_is_certain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    rows = 3000
    truth = rng.integers(0, 2, rows)
    right = {"old": rng.random(rows) < 0.75, "new": rng.random(rows) < 0.95}
    for model, marked in right.items():
        write(tmp_path / f"{model}.csv", "prediction", [str(v) for v in truth ^ ~marked])
    (tmp_path / "ci.yaml").write_text(FILE)
    labels = [""] * rows
    asked = 0
    arguments = ["test", tmp_path / "ci.yaml", "--to-label", tmp_path / "next.csv"]
    arguments += ["--old", tmp_path / "old.csv", "--new", tmp_path / "new.csv"]
    looks = 0
    while looks < 100:
        looks += 1
        write(tmp_path / "labels.csv", "label", labels)
        status = ran(*arguments)
        said = capsys.readouterr()
        if status != 3:
            break
        assert "no verdict yet: label" in said.err
        ids = [int(line) for line in (tmp_path / "next.csv").read_text().split()[1:]]
        assert all(not labels[i] for i in ids)
        for i in ids:
            labels[i] = str(truth[i])
        asked += len(ids)
    assert (status, said.out.split(":")[0]) == (0, "pass")
    assert "step 1 of 2" in said.out
    assert looks > 2
    # Only rows are labelled on which the models differ, and few of those.
    assert asked < 0.05 * rows
    assert ran(*arguments) == 0
    assert "step 1 of 2" in capsys.readouterr().out
    file = load_ci_file(tmp_path / "ci.yaml")
    most = make_sequential_plan(file.guarantee).fixed.labels
    assert ran("status", tmp_path / "ci.yaml") == 0
    assert f"the next needs {most:,} labels" in capsys.readouterr().out
