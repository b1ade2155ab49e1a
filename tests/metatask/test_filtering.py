"""Filters against scikit-learn and pandas written plainly."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import label_binarize

from runner.cli import main
from runner.errors import InputError
from runner.metatask import Finding, Metatask, files, original
from runner.metatask.filtering import FILTER, Rules, apply, keep_models, performance_gap
from runner.metrics import hard_auc, one_hot, weighted_auc

EVERYTHING = Rules(gap=0, least_models=1)


def sklearn_auroc(y: np.ndarray, predicted: np.ndarray) -> float:
    present = np.unique(y).tolist()
    return float(
        roc_auc_score(
            label_binarize(y, classes=present),
            label_binarize(predicted, classes=present),
            multi_class="ovr",
            average="weighted",
        )
    )


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_auroc_of_hard_predictions_is_scikit_learn_s(classes: int) -> None:
    rng = np.random.default_rng(classes)
    for _ in range(20):
        y = rng.integers(classes, size=80)
        predicted = np.where(rng.random(80) < 0.6, y, rng.integers(classes, size=80))
        found = hard_auc(y.astype(np.int16), predicted.astype(np.int16), classes)
        assert found == pytest.approx(sklearn_auroc(y, predicted), abs=1e-14)
        assert found == weighted_auc(y, one_hot(predicted, classes))
    with pytest.raises(ValueError, match="two classes"):
        hard_auc(np.zeros(3, dtype=np.int16), np.zeros(3, dtype=np.int16), classes)


def test_classes_that_rows_lack_have_no_weight() -> None:
    y = np.array([0, 0, 3, 3, 3])
    predicted = np.array([0, 3, 3, 3, 0])
    assert hard_auc(y, predicted, 5) == pytest.approx(sklearn_auroc(y, predicted))


def plain_gap(metatask: Metatask) -> float:
    """The paper's benchmark search, in scikit-learn's words."""
    single, virtual = [], []
    for fold in range(10):
        rows = np.flatnonzero(metatask.folds == fold)
        split = StratifiedShuffleSplit(n_splits=1, test_size=0.5, random_state=42)
        y = metatask.labels[rows]
        first, second = next(split.split(rows, y))
        predictions = metatask.tested.predictions[:, rows]
        # Rounded, since scikit-learn's areas of equal models differ in the last bit.
        scores = [round(sklearn_auroc(y[first], one[first]), 12) for one in predictions]
        best = scores.index(max(scores))
        single.append(sklearn_auroc(y[second], predictions[best][second]))
        oracle = []
        for row in second:
            right = [one[row] for one in predictions if one[row] == y[row]]
            sure = max(
                range(len(predictions)),
                key=lambda index, row=row: metatask.tested.confidences[index, rows[row], y[row]],
            )
            oracle.append(right[0] if right else predictions[sure][row])
        virtual.append(sklearn_auroc(y[second], np.array(oracle)))
    return 1 - float(np.mean(single) / np.mean(virtual))


@pytest.mark.parametrize("name", ["-13", "-4"])
def test_the_gap_is_the_paper_s(originals: Path, name: str) -> None:
    metatask = original.read(originals / f"metatask_{name}.json")
    # Models that are often all wrong, so that the oracle has to choose the least wrong one.
    few = keep_models(metatask, [0, 3])
    for one in (metatask, few):
        assert performance_gap(one, 42) == pytest.approx(plain_gap(one), abs=1e-12)


def with_predictions(metatask: Metatask, index: int, predicted: np.ndarray) -> Metatask:
    predictions = metatask.tested.predictions.copy()
    predictions[index] = predicted
    tested = dataclasses.replace(metatask.tested, predictions=predictions)
    return dataclasses.replace(metatask, tested=tested)


def test_models_go_for_each_reason(made: Callable[..., Metatask]) -> None:
    metatask = made(rows=300, models=6, validation=True)
    y = metatask.labels
    for index in range(5):
        wrong = np.random.default_rng(index).random(300) < 0.3
        metatask = with_predictions(metatask, index, np.where(wrong, (y + 1) % 3, y))
    metatask = with_predictions(metatask, 1, (y + 1) % 3)
    metatask = with_predictions(metatask, 2, np.zeros(300))
    confidences = metatask.tested.confidences.copy()
    confidences[4] = confidences[3]
    tested = dataclasses.replace(metatask.tested, confidences=confidences)
    metatask = with_predictions(
        dataclasses.replace(metatask, tested=tested), 4, metatask.tested.predictions[3]
    )
    bad = dataclasses.replace(metatask.models[0], findings=(Finding("nan", 1, False, "a gap"),))
    metatask = dataclasses.replace(metatask, models=(bad, *metatask.models[1:]))
    metatask = with_predictions(metatask, 5, y)

    default = apply(metatask, EVERYTHING)
    reasons = {one.name: one.reason for one in default.dropped}
    assert reasons["m0"] == "corrupted: a gap"
    assert reasons["m1"].startswith("worse than random: AUROC 0.")
    # A constant model is chance itself, against which one random draw may be better or worse.
    assert set(reasons) <= {"m0", "m1", "m2"}

    rules = dataclasses.replace(EVERYTHING, drop_constant=True, drop_duplicates=True)
    found = apply(metatask, rules)
    assert [one.name for one in found.dropped] == ["m0", "m1", "m2", "m4"]
    assert found.dropped[3].reason == "duplicate of m3"
    assert [model.name for model in found.metatask.models] == ["m3", "last"]
    assert np.array_equal(found.metatask.tested.predictions, metatask.tested.predictions[[3, 5]])
    kept = found.metatask.validation[1].confidences
    assert np.array_equal(kept, metatask.validation[1].confidences[[3, 5]])
    (step,) = found.metatask.constraints[FILTER]
    assert step["dropped"][3] == {"name": "m4", "reason": "duplicate of m3"}
    assert step["models_before"] == 6

    keeping = Rules(drop_corrupted=False, drop_worse_than_random=False, gap=0, least_models=6)
    assert apply(metatask, keeping).refused == ""
    few = dataclasses.replace(keeping, least_models=7)
    assert apply(metatask, few).refused == "6 models are left, fewer than 7"


def test_the_random_model_is_seeded(made: Callable[..., Metatask]) -> None:
    metatask = made(rows=300, models=12)
    dropped = [
        apply(metatask, dataclasses.replace(EVERYTHING, seed=seed)).dropped for seed in (1, 1, 2, 3)
    ]
    assert dropped[0] == dropped[1]
    # The models predict at random: which of them are below one random draw is chance.
    assert len({len(one) for one in dropped}) > 1


def test_a_metatask_that_cannot_be_judged(made: Callable[..., Metatask]) -> None:
    tiny = made(rows=9)
    assert "can't be halved" in apply(tiny, Rules()).refused
    one_class = dataclasses.replace(tiny, labels=np.zeros(9, dtype=np.int16))
    with pytest.raises(InputError, match="the tested rows are of one class"):
        apply(one_class, Rules())
    bad = (Finding("nan", 1, False, "a gap"),)
    models = tuple(dataclasses.replace(model, findings=bad) for model in tiny.models)
    assert apply(dataclasses.replace(tiny, models=models), Rules()).refused == "no model is left"


def status_of(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["metatask", *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_the_commands_filter_show_and_convert(
    originals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = str(tmp_path / "kept")
    assert status_of("filter", str(originals), "--output", output, "--json") == 0
    documents = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert set(documents) == {"-1", "-2", "-3", "-4", "-13"}
    assert documents["-13"]["refused"] is None
    assert "the gap is 2.42%, less than 5.00%" in documents["-4"]["refused"]
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["metatask_-13.arrow"]
    step = files.read(tmp_path / "kept" / "metatask_-13.arrow").constraints[FILTER][0]
    assert step["rules"]["gap"] == 0.05

    assert status_of("show", output, "--verify", "--models") == 0
    shown = capsys.readouterr().out
    assert "classes     no 996, yes 1004" in shown
    assert "filtered    50 models, gap 20.51%" in shown
    assert "prediction_flow_1049_run_9049" in shown
    assert status_of("show", output + "/metatask_-13.arrow", "--json") == 0
    assert json.loads(capsys.readouterr().out)["folds"]["9"] == 200

    arguments = ["--output", str(tmp_path / "csv"), "--to", "original"]
    assert status_of("convert", output, *arguments) == 0
    capsys.readouterr()
    assert status_of("show", str(tmp_path / "csv"), "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["models"] == 50


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "nowhere"], "nowhere: there is no such file or folder"),
        (["show", "."], "holds no metatask"),
        (["filter", "x.arrow", "--output", "."], "name another folder"),
        (["convert", "x.arrow", "--output", "y"], "isn't an Arrow file"),
    ],
)
def test_wrong_arguments_are_told_in_a_line(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.arrow").write_text("a")
    assert status_of(*arguments) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("command", ["convert", "filter"])
def test_no_metatask_replaces_another(
    command: str, made: Callable[..., Metatask], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file, name in (("x", "a/b"), ("y", "a_b"), ("z", "a_b")):
        files.write(dataclasses.replace(made(), name=name), tmp_path / f"{file}.arrow")
    x, y, z = (str(tmp_path / f"{file}.arrow") for file in "xyz")
    output = tmp_path / "out"
    for one, other in ((x, y), (y, z)):
        assert status_of(command, one, other, "--output", str(output)) == 2
        target = output / "metatask_a_b.arrow"
        assert f"{one} and {other} would both become {target}" in capsys.readouterr().err
        assert not output.exists()
    again = [command, y, "--output", str(output), *(["--gap=0"] if command == "filter" else [])]
    again += ["--least-models=1", "--keep-worse-than-random"] if command == "filter" else []
    assert status_of(*again) == status_of(*again) == 0
    assert status_of(command, x, "--output", str(output)) == 2
    assert "which is the metatask 'a_b': name another folder" in capsys.readouterr().err


def test_a_filter_that_keeps_nothing_ends_with_1(originals: Path, tmp_path: Path) -> None:
    path = str(originals / "metatask_-3.csv")
    assert status_of("filter", path, "--output", str(tmp_path)) == 1
    assert not list(tmp_path.iterdir())
