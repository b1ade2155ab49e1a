"""Studies of ensembles: what their files may say, and one line for each thing that is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runner.config import EnsembleStudy, ensemble_study, load_ensemble_study
from runner.ensemble.choices import choose
from runner.ensemble.loading import load_metatasks, remarks
from runner.ensemble.protocols import halves, unscorable_folds
from runner.errors import InputError
from runner.metatask import Finding, Metatask, files, formats
from tests.ensemble.conftest import made

GOOD = """\
kind: ensembles
name: study
metatasks:
  - metatask_made.arrow
techniques:
  - SBA
  - ES: {iterations: 20}
  - technique: ES
    name: bagged
    parameters:
      bags: 5
protocol: corrected
metric: accuracy
seed: 3
sandbox: {cpus: 2, memory: 1GB}
threads: 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    formats.save(made(2), tmp_path)
    return tmp_path


def loaded(folder: Path, text: str) -> EnsembleStudy:
    path = folder / "study.yaml"
    path.write_text(text)
    return load_ensemble_study(path)


def complaint(folder: Path, text: str) -> tuple[int | None, str]:
    """The line and the message with which a study is refused."""

    def check() -> None:
        study = loaded(folder, text)
        choose(study)
        load_metatasks(study)

    with pytest.raises(InputError) as caught:
        check()
    assert caught.value.file == folder / "study.yaml"
    return caught.value.line, caught.value.message


def test_a_study_says_what_its_techniques_take(folder: Path) -> None:
    study = loaded(folder, GOOD)
    plain, fewer, bagged = choose(study)
    assert (plain.name, fewer.name, bagged.name) == ("SBA", "ES", "bagged")
    assert fewer.parameters["iterations"] == 20
    assert bagged.given == {"bags": 5, "metric": "accuracy"}
    # What a technique optimises is what it is scored by, unless it is told otherwise.
    assert plain.parameters["metric"] == "accuracy"
    assert (study.seed, study.threads, study.sandbox.memory) == (3, 2, 10**9)


def test_without_techniques_they_are_those_of_the_paper(folder: Path) -> None:
    text = "kind: ensembles\nname: s\nmetatasks: ['*.arrow']\n"
    names = [choice.name for choice in choose(loaded(folder, text))]
    assert names == ["SBA", "VBA", "VBE", "Voting", "Stacking", "ES", "DCS", "DES"]


def test_the_paper_scores_predicted_classes_unless_told_otherwise(folder: Path) -> None:
    text = "kind: ensembles\nname: s\nmetatasks: ['*.arrow']\nprotocol: paper\n"
    study = loaded(folder, text)
    assert study.metric == "hard_auc"
    assert replace(study, protocol="corrected").metric == "auc"
    assert loaded(folder, text + "metric: auc\n").metric == "auc"
    # Its own single best knows no other measure.
    assert choose(study)[0].given == {}


def test_a_study_without_a_file_says_as_much_as_its_text(folder: Path) -> None:
    made_up = ensemble_study("mine", [folder / "metatask_made.arrow"])
    (folder / "study.yaml").write_text(made_up.text)
    read = load_ensemble_study(folder / "study.yaml")
    assert [path for path, _ in read.metatasks] == [path for path, _ in made_up.metatasks]
    assert replace(read, path=None, metatasks=(), lines={}) == replace(made_up, metatasks=())


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("kind: ensembles", "kind: ensemble", 1, "did you mean 'ensembles'?"),
        ("kind: ensembles", "kind: sweep", 1, "this is a sweep: `runner sweep` runs it"),
        ("protocol: corrected", "protokol: corrected", 12, "did you mean 'protocol'?"),
        ("protocol: corrected", "protocol: correct", 12, "did you mean 'corrected'?"),
        ("metric: accuracy", "metric: accurate", 13, "did you mean 'accuracy'?"),
        ("- SBA", "- SBX", 6, "there is no technique 'SBX': did you mean 'SBA'?"),
        ("- SBA", "- 7", 6, "a technique is a name"),
        ("- SBA", "- ES: 50", 6, "ES takes parameters, such as `{iterations: 50}`, not 50"),
        ("iterations: 20", "iteration: 20", 7, "did you mean 'iterations'?"),
        ("bags: 5", "bag: 5", 10, "did you mean 'bags'?"),
        ("name: bagged", "nam: bagged", 9, "did you mean 'name'?"),
        ("    name: bagged\n", "", 8, "technique 'ES' stands twice"),
        ("name: bagged", "name: SBA2/3", 9, "may hold letters"),
        ("name: bagged", "name: DES", 8, "'DES' is a technique that is built in"),
        ("- SBA", "- no_such_module:Class", 6, "there is no module 'no_such_module'"),
        ("- SBA", "- pathlib:Path", 6, "Path is no ensemble technique: it needs fit("),
        ("metatask_made.arrow", "metatask_mad.arrow", 4, "did you mean 'metatask_made.arrow'?"),
        ("metatask_made.arrow", "'other_*.arrow'", 4, "no file is like"),
        (
            "metatask_made.arrow",
            "metatask_made.arrow\n  - metatask_made.arrow",
            5,
            "stands twice; give it once",
        ),
        (
            "  - metatask_made.arrow\n",
            "  - copy.arrow\n  - metatask_made.arrow\n",
            5,
            "same metatask",
        ),
        ("threads: 2", "threads: 3", 16, "threads must be at most the sandbox's cpus (2), not 3"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    folder: Path, old: str, new: str, line: int, message: str
) -> None:
    (folder / "copy.arrow").write_bytes((folder / "metatask_made.arrow").read_bytes())
    assert old in GOOD
    found_line, found = complaint(folder, GOOD.replace(old, new, 1))
    assert message in found
    assert found_line == line


ROOT = Path(__file__).parents[2]


def test_the_study_that_comes_along_can_be_run(tmp_path: Path) -> None:
    study = tmp_path / "configs" / "ensembles.yaml"
    study.parent.mkdir()
    study.write_text((ROOT / "configs/ensembles.yaml").read_text())
    formats.save(made(2), tmp_path / "metatasks")
    found = load_ensemble_study(study)
    assert len(choose(found)) == 9
    assert len(load_metatasks(found)) == 1


def test_the_documented_study_is_one(tmp_path: Path) -> None:
    text = (ROOT / "docs/ensembles.md").read_text()
    block = text[text.index("    kind: ensembles") :].split("\n\n", 1)[0]
    study = tmp_path / "configs" / "study.yaml"
    study.parent.mkdir()
    study.write_text("\n".join(line.removeprefix("    ") for line in block.split("\n")))
    (study.parent / "package").mkdir()
    (study.parent / "package/module.py").write_text(
        "class Class:\n    def __init__(self, depth):\n        pass\n"
        "    def fit(self, confidences, predictions, y, X=None):\n        pass\n"
        "    def predict(self, confidences, predictions, X=None):\n        pass\n"
    )
    formats.save(made(2), tmp_path / "metatasks")
    formats.save(replace(made(3), name="more"), tmp_path / "more")
    formats.save(replace(made(3, seed=2), name="31"), study.parent, "original")
    found = load_ensemble_study(study)
    assert [choice.name for choice in choose(found)] == ["SBA", "ES", "ES-bagged", "mine"]
    assert [one.metatask.name for one in load_metatasks(found)] == ["made", "more", "31"]


def test_a_name_stays_as_it_was_given(folder: Path) -> None:
    start = "kind: ensembles\nname: s\nmetatasks: ['*.arrow']\ntechniques:\n"
    study = loaded(folder, start + "  - es\n  - {technique: ES, name: eS}\n  - sba: {}\n")
    assert [choice.name for choice in choose(study)] == ["ES", "eS", "SBA"]
    assert complaint(folder, start + "  - es\n  - ES\n") == (
        6,
        "technique 'ES' stands twice; give one another name",
    )


def test_what_cannot_be_scored_is_told_before_it_is_run(folder: Path) -> None:
    text = "kind: ensembles\nname: s\nmetatasks: ['*.arrow']\n"
    path = folder / "metatask_made.arrow"

    def told(metatask: Metatask, more: str = "") -> list[str]:
        files.write(metatask, path)
        study = loaded(folder, text + more)
        found = [one.metatask for one in load_metatasks(study)]
        for one in found:
            for fold in set(one.fold_numbers) - set(unscorable_folds(one, study.protocol)):
                if study.protocol != "paper":
                    assert halves(one, fold, study.protocol).rows.size
        return list(remarks(found, study))

    whole = made(2, rows=40)
    assert told(whole) == told(whole, "protocol: paper\n") == []
    alone = replace(whole, folds=np.arange(40, dtype=np.int16), validation={})
    with pytest.raises(InputError, match="fold 0 can't be scored under protocol 'corrected'"):
        told(alone)
    folds = np.arange(40, dtype=np.int16) % 4
    folds[np.flatnonzero((folds == 2) & (whole.labels == 1))] = 1
    some = replace(whole, folds=folds, validation={})
    (line,) = told(some)
    assert "metatask made: 1 of 4 folds can't be scored" in line
    assert line.endswith("classes: 2")
    with pytest.raises(InputError, match=r"fold 2 can't be scored under protocol 'paper'"):
        told(some, "protocol: paper\n")

    bad = (Finding("nan", 3, False, "3 gaps"),)
    models = (replace(whole.models[0], findings=bad), *whole.models[1:])
    (line,) = told(replace(whole, models=models))
    assert "predictions: made (1 of 6 models); `runner metatask filter` drops such models" in line
