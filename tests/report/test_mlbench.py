"""The paper's figures against its printed numbers, and the command that draws them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from runner.cli.main import main
from runner.errors import InputError
from runner.mlbench.published import read_published
from runner.mlbench.regimes import Thresholds
from runner.mlbench.study import Study, Task
from runner.report.figures import figures
from runner.report.mlbench import Choices, published_folder, write_published, write_study

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def paper() -> Study:
    return read_published(ROOT / "results/published/mlbench")


@pytest.fixture(scope="module")
def drawn(paper: Study) -> dict[str, Any]:
    return {name: _inlined(chart.to_dict()) for name, chart in figures(paper).items()}


def _inlined(chart: Any, datasets: Any = None) -> Any:
    """The chart with its data where they are used; altair puts them side by side at the top."""
    if isinstance(chart, list):
        return [_inlined(part, datasets) for part in chart]
    if not isinstance(chart, dict):
        return chart
    datasets = chart.get("datasets", datasets)
    if set(chart) == {"name"} and chart["name"] in datasets:
        return {"values": datasets[chart["name"]]}
    return {key: _inlined(part, datasets) for key, part in chart.items() if key != "datasets"}


def values(chart: Any) -> Iterator[dict[str, Any]]:
    """The rows of a chart's data, wherever in it they are."""
    if isinstance(chart, dict):
        yield from chart.get("data", {}).get("values", [])
        for part in chart.values():
            yield from values(part)
    elif isinstance(chart, list):
        for part in chart:
            yield from values(part)


def test_figure_1_begins_at_the_capacities(drawn: dict[str, Any]) -> None:
    panels = [list(values(panel)) for panel in drawn["figure1"]["concat"]]
    assert len(panels) == 3
    for panel, azure in zip(panels, (31.24, 6.99, 2.54), strict=True):
        begins = {
            p: min(r["tolerance"] for r in panel if r["platform"] == p) for p in ("Azure", "Amazon")
        }
        assert begins == {"Azure": pytest.approx(azure, abs=0.005), "Amazon": 26400 / 313}
    titles = [panel["title"] for panel in drawn["figure1"]["concat"]]
    assert [title.split("without ")[-1] for title in titles[1:]] == ["D-VP", "D-VP, D-KDD2"]


def test_figures_2_and_3(drawn: dict[str, Any], paper: Study) -> None:
    for row in values(drawn["figure2"]):
        assert row["value"] == paper.result(row["task"], row["system"]).auc
    order = list(dict.fromkeys(row["task"] for row in values(drawn["figure2"])))
    assert order == ["D-SCH", "D-EG", "D-VP", "D-AEA", "D-KDD2", "D-KDD1"]
    gaps = {(row["system"], row["task"]): row["value"] for row in values(drawn["figure3"])}
    # Section 5.2.1: the best linear model of D-SCH is C-BPM with .92, of D-EG C-SVM with .89.
    assert gaps["C-BPM", "D-SCH"] == gaps["C-SVM", "D-EG"] == 0
    assert gaps["C-BDT", "D-SCH"] == pytest.approx(0.69 - 0.92)
    assert {system for system, _ in gaps} == {"C-AP", "C-BPM", "C-BDT", "C-SVM", "C-LR"}


@pytest.mark.parametrize("figure", ["figure4", "figure5"])
def test_figures_4_and_5(figure: str, drawn: dict[str, Any], paper: Study) -> None:
    panels = {panel["title"]: panel for panel in drawn[figure]["concat"]}
    assert list(panels) == ["D-SCH", "D-EG", "D-VP", "D-AEA", "D-KDD1", "D-KDD2"]
    for task, panel in panels.items():
        rows = list(values(panel))
        lines = [row["auc"] for row in rows if "system" not in row]
        winning = paper.task(task).winning
        assert winning is not None
        assert lines == [winning.auc, paper.result(task, "A-LR").auc]
        for row in (row for row in rows if "system" in row):
            found = paper.result(task, row["system"])
            seconds = found.total_seconds if figure == "figure4" else found.average_seconds
            assert (row["seconds"], row["auc"]) == (seconds, found.auc)


def test_figure_6_in_the_papers_words(drawn: dict[str, Any]) -> None:
    """Section 5.2.3: which regimes Azure and Amazon meet."""
    best: dict[tuple[bool, str], set[str]] = {}
    for row in values(drawn["figure6"]):
        best.setdefault((row["system"] == "A-LR", row["task"]), set()).add(row["regime"])
    for regime, tasks in {
        "low": {"D-SCH", "D-EG"},
        "middle": {"D-AEA", "D-KDD1"},
        "high": {"D-KDD2"},
    }.items():
        for task in tasks:
            found = best[False, task]
            order = ("low", "middle", "high", "outside")
            assert next(name for name in order if name in found) == regime
    assert {
        task for (amazon, task), found in best.items() if amazon and "outside" not in found
    } == {"D-KDD1"}


def test_figures_that_the_numbers_don_t_allow() -> None:
    empty = Study("empty", (Task("a"),), (), {}, ())
    assert figures(empty) == {}


def test_files(tmp_path: Path) -> None:
    found = write_published("mlbench", tmp_path / "out")
    assert len(found.files) == 8 + 2 + 5 + 12 + 1 + 1
    for file in found.files:
        assert file.stat().st_size > 50
        if file.suffix == ".svg":
            ElementTree.parse(file)
    with (tmp_path / "out/tables/table9.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert [float(row["amazon"]) for row in rows] == found.tables["table9"]["amazon"].to_pylist()


def test_what_has_nothing_to_say_is_taken_away(tmp_path: Path, paper: Study) -> None:
    write_study(paper, tmp_path)
    some = replace(paper, results=(), name="empty")
    kept = write_study(some, tmp_path)
    files = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert files == set(kept.files)
    assert {path.stem for path in files} == {"table8", "missing", "answers"}


def test_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["report", "--published", "mlbench", "--output", "out", "--json"])
    assert end.value.code == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["differences"]) == 7
    assert all(Path(file).exists() for file in document["files"])


def test_choices(tmp_path: Path) -> None:
    choices = Choices(Thresholds(2, 20, 40), ("D-SCH",), 100)
    found = write_published("mlbench", tmp_path, choices)
    curves = found.tables["universality"].to_pylist()
    assert [(row["left_out"], row["tasks"]) for row in curves if row["platform"] == "Amazon"] == [
        ("", 6),
        ("D-SCH", 5),
    ]
    assert max(row["tolerance"] for row in curves if row["left_out"]) == 92300 / 1306
    regimes = {
        (r["system"], r["dataset"]): r["regime"] for r in found.tables["regimes"].to_pylist()
    }
    assert regimes["C-BDT", "D-VP"] == "high"
    assert "small: fewer than 100 rows) holds on 4 of 6" in " ".join(found.sentences)
    with pytest.raises(InputError, match=r"no task 'D-VPP' to leave out: did you mean 'D-VP'\?"):
        write_published("mlbench", tmp_path, Choices(without=("D-VPP",)))


def test_unknown_paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"no tables of 'mlbnch' .* did you mean 'mlbench'\?"):
        published_folder("mlbnch")
    assert published_folder("mlbench") == ROOT / "results/published/mlbench"
