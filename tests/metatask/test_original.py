"""The original's files, read and written without a changed number."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.errors import InputError
from runner.metatask import Finding, Metatask, files, original, original_writing
from runner.metatask.fingerprint import fingerprint

Same = Callable[[Metatask, Metatask], None]

SHARED = {"-1": "main", "-2": "main", "-3": "main", "-4": "main", "-13": "paper"}


def cells(path: Path) -> Iterator[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.reader(file)


def equal(one: str, other: str) -> bool:
    return one == other or float(one) == float(other)


def assert_same_files(one: Path, other: Path) -> None:
    """Every cell equal as a number or else as text, and the JSON equal in meaning."""
    for row, column in zip(cells(one), cells(other), strict=True):
        assert len(row) == len(column)
        assert all(equal(a, b) for a, b in zip(row, column, strict=True))
    documents = [json.loads(path.with_suffix(".json").read_text("utf-8")) for path in (one, other)]
    assert documents[0] == documents[1]


@pytest.mark.parametrize(("name", "version"), SHARED.items())
def test_the_originals_metatasks_round_trip(
    originals: Path, tmp_path: Path, name: str, version: Any, same: Same
) -> None:
    path = originals / f"metatask_{name}.csv"
    read = original.read(path)
    written = tmp_path / f"metatask_{name}.json"
    original_writing.write(read, written, version)
    assert_same_files(path, written.with_suffix(".csv"))
    # And by way of the own format.
    files.write(read, tmp_path / "own.arrow")
    own = files.verify(tmp_path / "own.arrow")
    same(own, read)
    original_writing.write(own, written, version)
    assert_same_files(path, written.with_suffix(".csv"))


FINGERPRINTS = {
    "-3": "c0dd375efc96977edf1760bbf1b7096d9f4ed855d7fabd71f5bbe69a39033b58",
    "-13": "49003a58b7020925ff4bc42233cafc794a7ab53a29c3a981fb1c001c52fab093",
}
"""A change of these makes every stored evaluation on a metatask void."""


@pytest.mark.parametrize(("name", "digest"), FINGERPRINTS.items())
def test_fingerprints_stay(originals: Path, name: str, digest: str) -> None:
    assert fingerprint(original.read(originals / f"metatask_{name}.csv")) == digest


def test_what_is_read_is_what_pandas_reads(originals: Path) -> None:
    path = originals / "metatask_-13.csv"
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    read = original.read(path)
    assert read.classes == ("no", "yes")
    assert (np.array(read.classes)[read.labels] == frame["target"]).all()
    assert len(read.models) == 50
    for index, model in enumerate(read.models):
        predicted = np.array(read.classes)[read.tested.predictions[index]]
        assert (predicted == frame[model.name]).all()
        for position, label in enumerate(read.classes):
            values = [float(text) for text in frame[f"confidence.{label}.{model.name}"]]
            assert np.array_equal(values, read.tested.confidences[index, :, position])
    assert read.models[3].origin == {"flow": 1003, "run": 9003}
    assert read.categorical == ("f18", "f19")
    assert not any(model.findings for model in read.models)


def test_validation_predictions_and_odd_labels_round_trip(
    with_validation: Metatask, tmp_path: Path, same: Same
) -> None:
    path = tmp_path / "metatask_-7.json"
    original_writing.write(with_validation, path)
    read = original.read(path)
    same(read, with_validation)
    assert fingerprint(read) == fingerprint(with_validation)
    document = json.loads(path.read_text("utf-8"))
    assert document["use_validation_data"] is True
    assert document["validation_indices"]["1"] == with_validation.validation[1].rows.tolist()
    header = next(cells(path.with_suffix(".csv")))
    assert "m0.fold2" in header
    assert "confidence.None.m0.fold2" in header
    # Files of earlier versions don't list the rows; the gaps of the columns tell them.
    del document["validation_indices"], document["fold_postfix"]
    document["confidence_prefix"] = "confidence."
    path.write_text(json.dumps(document))
    same(original.read(path), with_validation)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([1, 2, 3], "has row 3, which the fold tests"),
        ([1, 2, 60], "should be different rows of 60"),
        ([1, 1], "should be different rows of 60"),
        ([], "no row has validation predictions"),
    ],
)
def test_validation_rows_are_of_the_training_part(
    with_validation: Metatask, tmp_path: Path, rows: list[int], said: str
) -> None:
    path = tmp_path / "metatask_-7.json"
    original_writing.write(with_validation, path)
    document = json.loads(path.read_text("utf-8"))
    document["validation_indices"]["0"] = rows
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=f"'validation_indices' of fold 0.* {said}"):
        original.read(path)


numbers = st.floats(0, 1, allow_subnormal=True)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(st.tuples(numbers, numbers, numbers), min_size=12, max_size=12),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=12, max_size=12),
)
def test_every_number_survives(
    tmp_path_factory: pytest.TempPathFactory,
    made: Callable[..., Metatask],
    confidences: list[tuple[float, float, float]],
    features: list[float],
) -> None:
    metatask = made(12, 1, 2)
    tested = dataclasses.replace(metatask.tested, confidences=np.array([confidences]))
    table = metatask.features.set_column(0, "x", pa.array(features))
    metatask = dataclasses.replace(metatask, tested=tested, features=table)
    path = tmp_path_factory.mktemp("x") / "metatask_-7.json"
    original_writing.write(metatask, path)
    read = original.read(path)
    assert np.array_equal(read.tested.confidences, metatask.tested.confidences)
    assert read.features["x"].to_pylist() == features


def test_float32_keeps_its_value(metatask: Metatask, tmp_path: Path) -> None:
    narrow = metatask.tested.confidences.astype(np.float32)
    tested = dataclasses.replace(metatask.tested, confidences=narrow)
    narrowed = dataclasses.replace(metatask, tested=tested)
    original_writing.write(narrowed, tmp_path / "metatask_-7.json")
    read = original.read(tmp_path / "metatask_-7.json")
    assert np.array_equal(read.tested.confidences, narrow.astype(np.float64))
    assert fingerprint(read) == fingerprint(narrowed)


def test_findings_become_the_originals_words_and_come_back(
    metatask: Metatask, tmp_path: Path
) -> None:
    found = (
        Finding("truth", 3, True, "truth"),
        Finding("confidences", 2, False, "far"),
    )
    models = (dataclasses.replace(metatask.models[0], findings=found), *metatask.models[1:])
    path = tmp_path / "metatask_-7.json"
    original_writing.write(dataclasses.replace(metatask, models=models), path, "paper")
    document = json.loads(path.read_text("utf-8"))
    assert document["bad_predictors"] == ["m0"]
    details = document["predictor_corruptions_details"]["m0"]
    assert details["file_ground_truth_corrupted"] is True
    assert details["confidences_corrupted"] is True
    assert details["confidences_fixed"] is False
    read = original.read(path)
    assert read.models[0].corrupted
    assert not read.models[1].corrupted
    assert {finding.kind for finding in read.models[0].findings} == {"truth", "confidences"}


def test_booleans_that_pandas_respelled_are_the_same_class(
    metatask: Metatask, tmp_path: Path
) -> None:
    path = tmp_path / "metatask_-7.json"
    original_writing.write(metatask, path)
    table = path.with_suffix(".csv")
    text = table.read_text().replace('"TRUE"', "True")
    table.write_text(text)
    assert np.array_equal(original.read(path).labels, metatask.labels)


@pytest.fixture
def pair(metatask: Metatask, tmp_path: Path) -> Path:
    path = tmp_path / "metatask_-7.json"
    original_writing.write(metatask, path)
    return path


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"task_type": "regression"}, "is a metatask of regression"),
        ({"fold_predictors": ["FP0.x"]}, "'FP0.x' is a model of a single fold"),
        ({"file_format": "hdf"}, "stored as hdf"),
        ({"predictors": []}, "without a model"),
        ({"folds": [0, 1]}, "has 60 rows, the JSON file's folds have 2"),
        ({"folds": [0, 2] * 30}, "fold 1 of folds 0 to 2 tests no row"),
        ({"folds": ["a"]}, "'folds' should be a list of whole numbers"),
        ({"folds": None}, "'folds' should be a list of whole numbers"),
        ({"folds": [None] * 60}, "'folds' should be a list of whole numbers"),
        ({"folds": [1e12] * 60}, "'folds' should be a list of whole numbers"),
        ({"folds": [10**400] * 60}, "'folds' should be a list of whole numbers"),
        ({"target_name": None}, "'target_name' should be a text, not null"),
        ({"confidence_prefix": 3}, "'confidence_prefix' should be a text, not 3"),
        ({"use_validation_data": "no"}, "'use_validation_data' should be true or false, not"),
        ({"openml_task_id": True}, "'openml_task_id' should be a number or a text, not true"),
        ({"dataset_name": ["x" * 99]}, "'dataset_name' should be a text, not [\"xxx"),
        ({"feature_names": ["x", None]}, "'feature_names' should be a list of texts: null"),
        ({"predictor_corruptions_details": {"m0": 1}}, "of 'm0' should be an object"),
        ({"use_validation_data": True, "validation_indices": {"one": [1]}}, "which is no fold"),
        ({"use_validation_data": True, "validation_indices": {"0": None}}, "list of rows' num"),
        ({"predictors": ["m0", "m0"]}, "'predictors' has 'm0' twice"),
        ({"feature_names": "x"}, "'feature_names' should be a list"),
        ({"selection_constraints": []}, "'selection_constraints' should be an object"),
        ({"class_labels": ["NA"]}, "two classes or more"),
        ({"class_labels": ["NA", "TRUE"]}, "column 'confidence.None.m0' is none that the JSON"),
        ({"class_labels": ["NA", "None", "TRUE", "x"]}, "lacks column 'confidence.x.m0'"),
        ({"feature_names": ["x", "whole", "txt"]}, "lacks column 'txt': did you mean 'text'?"),
        ({"cat_feature_names": ["txt"]}, "lacks column 'txt'"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_does_not_fit_is_told_with_file_and_column(
    pair: Path, change: dict[str, Any], said: str
) -> None:
    document = json.loads(pair.read_text("utf-8"))
    pair.write_text(json.dumps({**document, **change}))
    with pytest.raises(InputError) as error:
        original.read(pair)
    assert said in str(error.value)
    assert str(pair.with_suffix("")) in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"m1","confidence.NA.m1"', '"m0","confidence.NA.m1"', "column 'm0' is there twice"),
        ('"NA",', "nix,", "holds 'nix', which is no class of the task: the choice is 'NA'"),
        ('"NA",', ",", "no class in row"),
        ('"NA",0.', '"NA",much', "conversion error to double"),
    ],
)
def test_damaged_tables_are_told_with_the_column(pair: Path, old: str, new: str, said: str) -> None:
    table = pair.with_suffix(".csv")
    text = table.read_text()
    assert old in text
    table.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as error:
        original.read(table)
    assert said in str(error.value)
    assert "column '" in str(error.value)
    assert str(table) in str(error.value)


def test_missing_files_are_told(pair: Path) -> None:
    pair.with_suffix(".csv").unlink()
    with pytest.raises(InputError, match=r"metatask_-7\.csv: there is no such file"):
        original.read(pair)
    pair.write_text("{")
    with pytest.raises(InputError, match=r"metatask_-7\.json: is no JSON"):
        original.read(pair)
    pair.write_text('{"a":' * 100_000)
    with pytest.raises(InputError, match=r"metatask_-7\.json: is no JSON .* nested too deeply"):
        original.read(pair)
    pair.write_text("{}")
    with pytest.raises(InputError, match="it lacks 'openml_task_id'"):
        original.read(pair)
    pair.unlink()
    with pytest.raises(InputError, match=r"metatask_-7\.json: there is no such file"):
        original.read(pair)


def test_what_the_format_has_no_place_for_is_refused(
    metatask: Metatask, with_validation: Metatask, tmp_path: Path
) -> None:
    path = tmp_path / "metatask_-7.json"
    with pytest.raises(InputError, match="the paper's format has no place"):
        original_writing.write(with_validation, path, "paper")
    some = dataclasses.replace(with_validation, validation={0: with_validation.validation[0]})
    with pytest.raises(InputError, match="for some folds only"):
        original_writing.write(some, path)
    untested = metatask.folds.copy()
    untested[:5] = -1
    with pytest.raises(InputError, match="5 rows have no test predictions"):
        original_writing.write(dataclasses.replace(metatask, folds=untested), path)
    models = (dataclasses.replace(metatask.models[0], name="x"), *metatask.models[1:])
    with pytest.raises(InputError, match="two columns would be called 'x'"):
        original_writing.write(dataclasses.replace(metatask, models=models), path)
    assert not list(tmp_path.iterdir())
