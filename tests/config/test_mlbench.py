"""The two studies of mlbench: whole grids, the paper's data sets, a line for a missing file."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from runner.config import load_study, load_tasks
from runner.data import FileSource
from runner.errors import InputError

CONFIGS = Path(__file__).parents[2] / "configs"
COMBINATIONS = {
    "C-AP": 6,
    "C-BPM": 1,
    "C-BDT": 180,
    "C-DF": 81,
    "C-DJ": 81,
    "C-NN": 24,
    "C-SVM": 15,
    "C-LR": 72,
}
"""The paper's Table 5."""
DATA_SETS = ["D-SCH", "D-EG", "D-VP", "D-AEA", "D-PHY", "D-KDD1", "D-KDD2"]
"""Its Table 4."""


@pytest.fixture(params=["mlbench", "mlbench-sandbox"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def copied(name: str, tmp_path: Path) -> Path:
    """The study in a folder of its own, so that nobody's data/mlbench is there."""
    study = tmp_path / "configs" / f"{name}.yaml"
    study.parent.mkdir()
    shutil.copy(CONFIGS / study.name, study)
    return study


def test_whole_grids_on_all_data_sets(name: str) -> None:
    study = load_study(CONFIGS / f"{name}.yaml")
    assert study.name == name
    grids = {system.name: len(system.configurations) for system in study.systems}
    assert grids == COMBINATIONS
    assert sum(grids.values()) == 460
    assert [task.name for task in study.tasks] == DATA_SETS
    assert study.folds == 5


def test_one_core_packed_and_four_cores_alone() -> None:
    choosing = load_study(CONFIGS / "mlbench.yaml")
    assert (choosing.sandbox.cpus, choosing.threads, choosing.timing) == (1, 1, "packed")
    publishing = load_study(CONFIGS / "mlbench-sandbox.yaml")
    assert (publishing.sandbox.cpus, publishing.sandbox.memory) == (4, 12 * 10**9)
    assert (publishing.threads, publishing.timing) == (4, "exclusive")
    assert [task.source for task in choosing.tasks] == [task.source for task in publishing.tasks]


def test_files_of_the_described_form_load(copied: Path) -> None:
    study = load_study(copied)
    for task in study.tasks:
        assert isinstance(task.source, FileSource)
        _make_file(task.source)
    tasks, splits = load_tasks(study)
    assert [task.positive for task in tasks] == [
        task.source.positive for task in study.tasks if isinstance(task.source, FileSource)
    ]
    assert all(len(split.train_rows) == 48 for split in splits)


def test_a_missing_file_is_told_in_one_line(copied: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_tasks(load_study(copied))
    assert caught.value.file == copied
    assert caught.value.line == _line(copied, "D-SCH.parquet")
    assert "doesn't exist" in caught.value.message
    assert "\n" not in caught.value.message


def test_the_docs_repeat_the_papers_table(name: str) -> None:
    reference = Path(__file__).parents[3] / "shared/reference/mlbench/table4_datasets.csv"
    if not reference.exists():
        pytest.skip("the paper's tables aren't here")
    lines = (CONFIGS.parent / "docs/mlbench-data.md").read_text().splitlines()
    study = load_study(CONFIGS / f"{name}.yaml")
    with reference.open() as file:
        for row in csv.DictReader(file):
            [told] = [line for line in lines if line.startswith(f"| {row['dataset']} |")]
            cells = [cell.strip() for cell in told.strip("|").split("|")]
            sizes = [cells[3], cells[4], cells[6]]
            assert sizes == [
                _thousands(row[key]) for key in ("train_rows", "features", "test_rows")
            ]
            [source] = [task.source for task in study.tasks if task.name == row["dataset"]]
            assert isinstance(source, FileSource)
            assert cells[5].startswith(f"`{source.target}`: {source.positive}")


def _make_file(source: FileSource) -> None:
    rng = np.random.default_rng(0)
    positive = np.arange(60) % 3 == 0
    codes = ("t", "f") if source.positive == "t" else (1, 0)
    columns = {
        "number": pa.array(rng.normal(size=60), mask=rng.random(60) < 0.1),
        "name": pa.array(rng.choice(["a", "b"], 60), mask=rng.random(60) < 0.1),
        "set": np.full(60, sum(map(ord, source.path.stem))),
        source.target: np.where(positive, *codes),
    }
    source.path.resolve().parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), source.path)


def _line(file: Path, text: str) -> int:
    lines = file.read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if text in line)


def _thousands(number: str) -> str:
    return f"{int(number):,}"
