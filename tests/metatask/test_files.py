"""The own format: nothing is lost, nothing is copied, damage is told in one line."""

from __future__ import annotations

import dataclasses
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from runner.errors import InputError
from runner.metatask import Metatask, files
from runner.metatask.fingerprint import fingerprint

Same = Callable[[Metatask, Metatask], None]
Made = Callable[..., Metatask]


def test_everything_comes_back(with_validation: Metatask, tmp_path: Path, same: Same) -> None:
    path = tmp_path / "new" / files.file_name(with_validation.name)
    digest = files.write(with_validation, path)
    read = files.verify(path)
    same(read, with_validation)
    assert read.models == with_validation.models
    assert read.constraints == with_validation.constraints
    assert files.stored_fingerprint(path) == digest == fingerprint(read)
    assert [file.name for file in path.parent.iterdir()] == ["metatask_-7.arrow"]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_confidences_keep_their_type(metatask: Metatask, tmp_path: Path, kind: type) -> None:
    tested = dataclasses.replace(
        metatask.tested, confidences=metatask.tested.confidences.astype(kind)
    )
    files.write(dataclasses.replace(metatask, tested=tested), tmp_path / "a.arrow")
    read = files.read(tmp_path / "a.arrow").tested.confidences
    assert read.dtype == kind
    assert np.array_equal(read, tested.confidences)


def test_arrays_are_read_only_views_on_the_file(made: Made, tmp_path: Path) -> None:
    big = made(rows=20_000, models=50)
    files.write(big, tmp_path / "a.arrow")
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    read = files.read(tmp_path / "a.arrow")
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < big.tested.confidences.nbytes / 20
    for array in (read.labels, read.folds, read.tested.predictions, read.tested.confidences):
        assert not array.flags.writeable
        assert not array.flags.owndata
    assert pa.total_allocated_bytes() - before < big.tested.confidences.nbytes / 20


def test_rows_that_no_fold_tests_and_tables_without_a_column(
    metatask: Metatask, tmp_path: Path, same: Same
) -> None:
    bare = metatask.features.select([])
    assert bare.num_rows == 60
    rows = np.arange(30, dtype=np.int32)
    partly = dataclasses.replace(
        metatask,
        features=bare,
        categorical=(),
        folds=np.where(np.arange(60) < 30, metatask.folds, -1).astype(np.int16),
        tested=dataclasses.replace(
            metatask.tested,
            rows=rows,
            predictions=metatask.tested.predictions[:, :30],
            confidences=metatask.tested.confidences[:, :30],
        ),
    )
    files.write(partly, tmp_path / "a.arrow")
    same(files.verify(tmp_path / "a.arrow"), partly)


def test_a_file_of_categories_and_booleans(metatask: Metatask, tmp_path: Path) -> None:
    table = pa.table(
        {
            "c": pa.array(["b", None, "a"] * 20).dictionary_encode(),
            "yes": pa.array([True, None, False] * 20),
            "gaps": pa.nulls(60),
        }
    )
    files.write(dataclasses.replace(metatask, features=table, categorical=("c",)), tmp_path / "a")
    assert files.verify(tmp_path / "a").features.equals(table)


def test_a_write_that_fails_leaves_what_was_there(metatask: Metatask, tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    files.write(metatask, path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        files.write(dataclasses.replace(metatask, constraints={"x": object()}), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("share", [0, 0.001, 0.3, 0.9, 0.9999])
def test_a_file_that_was_cut_short_is_told_so(
    metatask: Metatask, tmp_path: Path, share: float
) -> None:
    path = tmp_path / "a.arrow"
    files.write(metatask, path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(InputError, match=r"a\.arrow: is (no metatask|damaged or cut short)"):
        files.read(path)


def test_changed_bytes_are_found_by_verify(metatask: Metatask, tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    files.write(metatask, path)
    data = bytearray(path.read_bytes())
    number = metatask.tested.confidences[2, 7, 1].tobytes()
    data[data.index(number)] ^= 1
    path.write_bytes(bytes(data))
    files.read(path)
    with pytest.raises(InputError, match="was changed since it was written"):
        files.verify(path)


def test_a_prediction_that_is_no_class_is_found_by_verify(
    metatask: Metatask, tmp_path: Path
) -> None:
    predictions = metatask.tested.predictions.copy()
    predictions[0, 0] = 3
    tested = dataclasses.replace(metatask.tested, predictions=predictions)
    files.write(dataclasses.replace(metatask, tested=tested), tmp_path / "a.arrow")
    with pytest.raises(InputError, match="a prediction is no class"):
        files.verify(tmp_path / "a.arrow")


def rewrite_header(path: Path, change: Callable[[dict[str, object]], None]) -> None:
    with pa.ipc.open_file(path) as reader:
        batch = reader.get_batch(0)
        document = json.loads(reader.schema.metadata[b"runner.metatask"])
    change(document)
    batch = batch.replace_schema_metadata({b"runner.metatask": json.dumps(document).encode()})
    with pa.ipc.new_file(path, batch.schema) as writer:
        writer.write_batch(batch)


def test_newer_foreign_and_incomplete_files_are_refused(metatask: Metatask, tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    files.write(metatask, path)
    rewrite_header(path, lambda document: document.update(version=2))
    with pytest.raises(InputError, match="is a metatask of version 2, this program reads up to"):
        files.read(path)
    rewrite_header(path, lambda document: document.update(version=1, classes=["a"]))
    with pytest.raises(InputError, match="is damaged"):
        files.read(path)
    rewrite_header(path, lambda document: document.pop("models"))
    with pytest.raises(InputError, match="is damaged"):
        files.read(path)
    table = pa.table({"x": [1]})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(InputError, match="is no metatask: its header says nothing of one"):
        files.read(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="is no metatask: it isn't an Arrow file"):
        files.read(path)
    with pytest.raises(InputError, match="there is no such file"):
        files.read(tmp_path / "b.arrow")


def test_the_fingerprint_is_of_the_content(metatask: Metatask) -> None:
    first = fingerprint(metatask)
    described = dataclasses.replace(
        metatask,
        name="8",
        dataset="another",
        models=tuple(dataclasses.replace(model, description="") for model in metatask.models),
        features=metatask.features.cast(
            pa.schema([("x", pa.float64()), ("whole", pa.float64()), ("text", pa.large_string())])
        ),
        labels=metatask.labels.astype(np.int64),
    )
    assert fingerprint(described) == first
    confidences = metatask.tested.confidences.copy()
    confidences[0, 0, 0] = np.nextafter(confidences[0, 0, 0], 1)
    changes = [
        {"classes": ("NA", "None", "true")},
        {"categorical": ()},
        {"labels": np.roll(metatask.labels, 1)},
        {"folds": np.roll(metatask.folds, 1)},
        {"models": metatask.models[::-1]},
        {"tested": dataclasses.replace(metatask.tested, confidences=confidences)},
        {"features": metatask.features.rename_columns(["x", "y", "text"])},
        {"validation": {0: metatask.tested}},
    ]
    prints = {fingerprint(dataclasses.replace(metatask, **change)) for change in changes}
    assert len(prints | {first}) == len(changes) + 1


def test_names_make_safe_files() -> None:
    assert files.file_name("31") == "metatask_31.arrow"
    assert "/" not in files.file_name("../a b")
