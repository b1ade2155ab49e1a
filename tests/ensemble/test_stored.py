"""Stored results of the original, scored by plain code of the test's own."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from runner.cli import main
from runner.ensemble.stored import read_results
from runner.errors import InputError

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "assembled"
SHARED = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data aren't here")


def plain_auroc(truth: Sequence[str], predicted: Sequence[str]) -> float:
    """Every pair of rows compared, for each class against the others."""
    total = 0.0
    for label in set(truth):
        inside = [p == label for t, p in zip(truth, predicted, strict=True) if t == label]
        outside = [p == label for t, p in zip(truth, predicted, strict=True) if t != label]
        pairs = sum((i > o) + (i == o) / 2 for i in inside for o in outside)
        total += pairs / len(outside) / len(truth)
    return total


def plain_gaps(path: Path) -> dict[str, float]:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    folds = sorted({row["Fold"] for row in rows})
    means = {}
    for name in list(rows[0])[3:]:
        scores = [
            plain_auroc(
                [row["ground_truth"] for row in rows if row["Fold"] == fold],
                [row[name] for row in rows if row["Fold"] == fold],
            )
            for fold in folds
        ]
        means[name] = sum(scores) / len(scores)
    low, high = means.pop("DCS_SBA"), means.pop("DCS_VBA")
    return {name: (mean - low) / (high - low) for name, mean in means.items()}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["metatask", "score", *arguments])
    said = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, said.out, said.err


@SHARED
def test_the_six_stored_files_give_the_closed_gaps_that_plain_code_gives(
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = sorted((DATA / "results").glob("*.csv"))
    assert len(paths) == 6
    gaps = [plain_gaps(path) for path in paths]
    tasks = str(DATA / "benchmark_metatask_overview.csv")
    status, out, _ = run(capsys, str(DATA / "results"), "--tasks", tasks, "--json")
    assert status == 0
    found = json.loads(out)
    assert set(found) == {"all", "n>=1900"}
    assert set(found["all"]) == set(gaps[0])
    for name, spread in found["all"].items():
        values = [gap[name] for gap in gaps]
        mean = sum(values) / 6
        variance = sum((value - mean) ** 2 for value in values) / 5
        assert spread["mean"] == pytest.approx(mean, abs=1e-12)
        assert spread["std"] == pytest.approx(math.sqrt(variance), abs=1e-12)
    # The largest of the six has 1,000 rows.
    assert found["n>=1900"] is None


HEADER = "ground_truth,Index-Metatask,Fold,Mine,VBA,SBA"
# Two folds of four rows: the virtual best is always right, the single best in half of them.
ROWS = [
    "a,0,0,a,a,a",
    "a,1,0,a,a,b",
    "b,2,0,b,b,b",
    "b,3,0,a,b,a",
    "a,4,1,a,a,a",
    "a,5,1,a,a,b",
    "b,6,1,b,b,b",
    "b,7,1,a,b,a",
]
TASKS = (
    "Dataset,OpenMl Task ID,#instances,#classes\none,1,2000.0,2.0\ntwo,2,8,2\nTOTAL-MEAN,-,9,2\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "results_for_metatask_1.csv").write_text("\n".join([HEADER, *ROWS]))
    (tmp_path / "tasks.csv").write_text(TASKS)
    return tmp_path


def rewrite(folder: Path, header: str, rows: list[str], task: int = 1) -> None:
    (folder / f"results_for_metatask_{task}.csv").write_text("\n".join([header, *rows]))


def test_one_task_has_a_mean_and_no_deviation(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(capsys, str(folder), "--tasks", str(folder / "tasks.csv"), "--json")
    # Mine has AUROC .75 in both folds, the bounds .5 and 1.
    half = {"Mine": {"mean": 0.5, "std": None}}
    assert status == 0
    assert json.loads(out) == {"all": half, "n>=1900": half}


def test_a_task_without_a_gap_is_left_out_and_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    equal = [",".join([*row.split(",")[:4], "a", "a"]) for row in ROWS]
    rewrite(folder, HEADER, equal, task=2)
    status, out, err = run(capsys, str(folder), "--tasks", str(folder / "tasks.csv"), "--json")
    assert status == 0
    assert json.loads(out)["all"] == {"Mine": {"mean": 0.5, "std": None}}
    assert "task 2 is left out" in err


def test_how_booleans_are_spelled_makes_no_class(folder: Path) -> None:
    before = read_results(folder, folder / "tasks.csv").scores
    swap = {"a": "True", "b": "False"}
    rows = []
    for row in ROWS:
        truth, index, fold, mine, virtual, single = row.split(",")
        cells = [swap[truth], index, fold, swap[mine].upper(), swap[virtual].lower(), swap[single]]
        rows.append(",".join(cells))
    rewrite(folder, HEADER, rows)
    assert read_results(folder, folder / "tasks.csv").scores == before


def test_labels_that_differ_in_case_and_are_both_true_stay_two_classes(folder: Path) -> None:
    before = read_results(folder, folder / "tasks.csv").scores
    rows = [row.replace("b", "A") for row in ROWS]
    rewrite(folder, HEADER, rows)
    assert read_results(folder, folder / "tasks.csv").scores == before


def test_labels_keep_their_text(folder: Path) -> None:
    before = read_results(folder, folder / "tasks.csv").scores
    rewrite(folder, HEADER, [row.replace("a", "None").replace("b", "NA") for row in ROWS])
    assert read_results(folder, folder / "tasks.csv").scores == before


@pytest.mark.parametrize(
    ("header", "rows", "said"),
    [
        (HEADER.replace("Fold", "Folds"), ROWS, "lacks column 'Fold': did you mean 'Folds'?"),
        (HEADER.replace("SBA", "other"), ROWS, "no column of the single best (SBA)"),
        (HEADER.replace("Mine", "DCS_VBA"), ROWS, "2 columns of the virtual best"),
        (HEADER, ["a,0,0,a,a,a"], "fold 0 has one class"),
        (HEADER, [row.replace(",1,", ",2,") for row in ROWS], ":4: column 'Index-Metatask': row 2"),
        (HEADER, [*ROWS[:3], "b,3,0,,b,a"], ":5: column 'Mine' has no label"),
        (HEADER, [*ROWS[:3], "b,3,0,c,b,a"], "column 'Mine' holds 'c', which is no class"),
        (HEADER, [*ROWS[:3], "b,3,2,a,b,a"], "lacks fold 1"),
        (HEADER, [*ROWS[:3], "b,3,x,a,b,a"], ":5: column 'Fold' holds 'x'"),
        (HEADER, [*ROWS[:3], "b,3,0,a,b"], ":5: 5 fields, the header has 6"),
        (HEADER, [], "has no rows"),
    ],
)
def test_what_cannot_be_scored_is_told_with_file_and_column(
    folder: Path, header: str, rows: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite(folder, header, rows)
    status, _, err = run(capsys, str(folder), "--tasks", str(folder / "tasks.csv"))
    assert status == 2
    assert said in err
    assert "results_for_metatask_1.csv" in err
    assert len(err.splitlines()) == 1


def test_files_of_one_folder_have_the_same_columns_and_folds(folder: Path) -> None:
    rewrite(folder, HEADER.replace("Mine", "Yours"), ROWS, task=2)
    with pytest.raises(
        InputError, match=r"_1\.csv: lacks column 'Yours'|_2\.csv: lacks column 'Mine"
    ):
        read_results(folder, folder / "tasks.csv")
    rewrite(folder, HEADER, ROWS[:4], task=2)
    with pytest.raises(InputError, match=r"_2\.csv: column 'Fold' ends at fold 0"):
        read_results(folder, folder / "tasks.csv")


def test_tasks_that_the_table_lacks_are_named(folder: Path) -> None:
    rewrite(folder, HEADER, ROWS, task=3)
    with pytest.raises(
        InputError, match=r"tasks\.csv: lacks task 3 of results_for_metatask_3\.csv"
    ):
        read_results(folder, folder / "tasks.csv")
    (folder / "tasks.csv").write_text("OpenMl Task ID,rows\n1,5\n")
    with pytest.raises(InputError, match="lacks column '#instances'"):
        read_results(folder, folder / "tasks.csv")
    with pytest.raises(InputError, match="holds no file results_for_metatask_"):
        read_results(folder / "nowhere", folder / "tasks.csv")
