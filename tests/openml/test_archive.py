"""What was fetched once is never asked for again, and the openml package shares its cache."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from openml_server import CUT, GARBLED, OpenmlServer

from runner.data.openml_task import read_files, read_openml
from runner.data.task import TaskError
from runner.openml import Archive, Pace, Server, UnreachableError

FAST = Pace(per_second=1000, at_once=3, read_seconds=0.5, first_wait=0.01)


def archive(server: OpenmlServer, folder: Path) -> Archive:
    return Archive(folder, Server(server.url, pace=FAST, attempts=3))


def test_a_task_is_fetched_once(openml_server: OpenmlServer, tmp_path: Path) -> None:
    own = archive(openml_server, tmp_path)
    assert not own.has_task(59)
    files = own.task(59)
    assert (files.dataset.name, files.task.target) == ("iris", "class")
    assert len(openml_server.requests) == 4
    assert own.has_task(59)
    assert own.task(59) == files
    assert len(openml_server.requests) == 4


def test_what_failed_is_fetched_where_it_stopped(
    openml_server: OpenmlServer, tmp_path: Path
) -> None:
    own = archive(openml_server, tmp_path)
    openml_server.fail("iris.arff", GARBLED, times=3)
    with pytest.raises(UnreachableError, match="runner data fetch --openml-task 59"):
        own.task(59)
    openml_server.fail("iris.arff", CUT)
    own.task(59)
    assert len(openml_server.asked("task/59")) == 1
    # Only what is whole is ever there under its name.
    kept = sorted(path.name for path in (tmp_path / "datasets" / "61").iterdir())
    assert kept == ["dataset.arff", "description.xml"]


def test_a_broken_description_is_fetched_again(openml_server: OpenmlServer, tmp_path: Path) -> None:
    own = archive(openml_server, tmp_path)
    own.task(59)
    path = tmp_path / "tasks" / "59" / "task.xml"
    path.write_bytes(path.read_bytes()[:100])
    assert own.task(59).task.number == 59
    assert len(openml_server.asked("task/59")) == 2


def test_threads_that_want_the_same_fetch_it_once(
    openml_server: OpenmlServer, tmp_path: Path
) -> None:
    openml_server.delay = 0.02
    own = archive(openml_server, tmp_path)
    threads = [threading.Thread(target=own.task, args=(59,)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(openml_server.requests) == 4


def test_parquet_serves_where_the_arff_file_is_gone(
    openml_server: OpenmlServer, tmp_path: Path
) -> None:
    own = archive(openml_server, tmp_path)
    files = own.task(59)
    arff = files.data
    table = read_files(files).table
    import pyarrow as pa
    import pyarrow.parquet

    arff.rename(arff.with_name("dataset_61.pq"))
    pa.parquet.write_table(pa.table(table.columns), arff.with_name("dataset_61.pq"))
    again = read_files(own.task(59)).table
    assert again.columns == table.columns


def test_the_openml_package_finds_what_was_fetched_here(
    configured_openml: OpenmlServer,
) -> None:
    import openml

    own = read_openml(59)
    asked = len(configured_openml.requests)
    task = openml.tasks.get_task(59, download_splits=True, download_data=True)
    # All it adds are the features, which we don't need.
    assert [path.split("/xml/")[1] for path in configured_openml.requests[asked:]] == [
        "data/features/61"
    ]
    X, y, _, names = task.get_dataset().get_data(target=task.target_name)
    assert [*names, own.target] == list(own.table.columns)
    for name in names:
        np.testing.assert_array_equal(own.table.columns[name].to_numpy(), X[name])
    assert own.table.columns[own.target].to_pylist() == list(y)
    for fold in range(10):
        _, test = task.get_train_test_split_indices(fold=fold)
        np.testing.assert_array_equal(np.flatnonzero(own.folds == fold), np.sort(test))
    assert own.complete


def test_what_the_openml_package_fetched_serves_without_a_network(
    configured_openml: OpenmlServer,
) -> None:
    import openml

    openml.tasks.get_task(59, download_splits=True, download_data=True).get_dataset().get_data()
    asked = len(configured_openml.requests)
    assert read_openml(59).table.rows == 150
    assert len(configured_openml.requests) == asked


def test_no_network_and_no_cache_is_one_line(
    configured_openml: OpenmlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import openml

    monkeypatch.setenv("OPENML_SERVER", "http://127.0.0.1:9/api/v1/xml")
    monkeypatch.setattr(openml.config, "connection_n_retries", 1)
    with pytest.raises(TaskError, match="runner data fetch") as error:
        read_openml(59)
    assert "\n" not in str(error.value)


def test_an_unknown_task_is_named(configured_openml: OpenmlServer) -> None:
    with pytest.raises(TaskError, match="OpenML has no task 4711"):
        read_openml(4711)


def test_no_parquet_is_waited_for_where_the_arff_file_is_cached(
    openml_server: OpenmlServer, tmp_path: Path
) -> None:
    archive(openml_server, tmp_path).task(59)
    path = tmp_path / "datasets" / "61" / "description.xml"
    address = "<oml:parquet_url>http://127.0.0.1:9/dataset61/dataset_61.pq</oml:parquet_url>"
    text = path.read_text()
    path.write_text(text.replace("<oml:md5_checksum>", f"{address}<oml:md5_checksum>"))
    asked = len(openml_server.requests)
    files = archive(openml_server, tmp_path).task(59)
    assert files.dataset.parquet_url is not None
    assert read_files(files).table.rows == 150
    assert len(openml_server.requests) == asked
