"""What the server's descriptions say of tasks, data sets, runs and evaluations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from runner.errors import InputError

CLASSIFICATION = "Supervised Classification"


@dataclass(frozen=True)
class TaskRecord:
    """A task.

    Attributes:
        kind: Such as ``Supervised Classification``.
        dataset: The data set's number.
        target: The target column; empty for kinds of tasks without one.
        procedure: How models are to be tested, such as ``crossvalidation``; empty for none.
        splits_url: Where its folds are; empty for a task without any.
    """

    number: int
    kind: str
    dataset: int
    target: str
    procedure: str
    splits_url: str


@dataclass(frozen=True)
class DatasetRecord:
    """A data set.

    Attributes:
        url: Where its ARFF file is.
        md5: Of that file; None where the server says none.
        parquet_url: Where a parquet file is; None for none.
        ignored: Columns that are no features: names of rows, and what its maker leaves out.
    """

    number: int
    name: str
    version: str
    url: str
    md5: str | None
    parquet_url: str | None
    ignored: tuple[str, ...]


@dataclass(frozen=True)
class RunRecord:
    """A run.

    Attributes:
        predictions_url: Where its predictions are; None for a run without any.
    """

    number: int
    task: int
    flow: int
    flow_name: str
    setup: int
    predictions_url: str | None


@dataclass(frozen=True)
class Evaluation:
    """What a run scored, as the server computed it.

    Attributes:
        setup: The number of the flow with its hyper-parameters.
        value: The score; None where the server has none.
        uploaded: When, as the server writes it.
    """

    run: int
    task: int
    flow: int
    flow_name: str
    setup: int
    value: float | None
    uploaded: str = ""


def task_record(root: ElementTree.Element) -> TaskRecord:
    """A task from the answer to ``task/ID``."""
    inputs = {element.get("name"): element for element in _all(root, "input")}
    source = inputs.get("source_data")
    procedure = inputs.get("estimation_procedure")
    return TaskRecord(
        number=_number(root, "task_id"),
        kind=_text(root, "task_type"),
        dataset=_number(source, "data_set_id") if source is not None else -1,
        target="" if source is None else _text(source, "target_feature"),
        procedure="" if procedure is None else _text(procedure, "type"),
        splits_url="" if procedure is None else _text(procedure, "data_splits_url"),
    )


def dataset_record(root: ElementTree.Element) -> DatasetRecord:
    """A data set from the answer to ``data/ID``."""
    ignored = [
        name.strip()
        for key in ("row_id_attribute", "ignore_attribute")
        for element in _all(root, key)
        for name in (element.text or "").split(",")
    ]
    return DatasetRecord(
        number=_number(root, "id"),
        name=_text(root, "name"),
        version=_text(root, "version"),
        url=_text(root, "url"),
        md5=_text(root, "md5_checksum") or None,
        parquet_url=_text(root, "parquet_url") or None,
        ignored=tuple(filter(None, ignored)),
    )


def run_record(root: ElementTree.Element) -> RunRecord:
    """A run from the answer to ``run/ID``."""
    files = {_text(file, "name"): _text(file, "url") for file in _all(root, "file")}
    return RunRecord(
        number=_number(root, "run_id"),
        task=_number(root, "task_id"),
        flow=_number(root, "flow_id"),
        flow_name=_text(root, "flow_name"),
        setup=_number(root, "setup_id"),
        predictions_url=files.get("predictions") or None,
    )


def evaluations(root: ElementTree.Element) -> Iterator[Evaluation]:
    """The evaluations in the answer to ``evaluation/list``, in its order."""
    for element in _all(root, "evaluation"):
        value = _text(element, "value")
        yield Evaluation(
            run=_number(element, "run_id"),
            task=_number(element, "task_id"),
            flow=_number(element, "flow_id"),
            flow_name=_text(element, "flow_name"),
            setup=_number(element, "setup_id"),
            value=float(value) if value else None,
            uploaded=_text(element, "upload_time"),
        )


def suite_tasks(root: ElementTree.Element) -> tuple[int, ...]:
    """The tasks in the answer to ``study/ID``, in its order."""
    return tuple(int(element.text or "") for element in _all(root, "task_id"))


def _all(root: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    """All elements of a name below an element, whatever their namespace's prefix stands for."""
    return (element for element in root.iter() if element.tag.rpartition("}")[2] == name)


def _text(root: ElementTree.Element, name: str) -> str:
    return next(((element.text or "").strip() for element in _all(root, name)), "")


def _number(root: ElementTree.Element, name: str) -> int:
    text = _text(root, name)
    try:
        return int(text)
    except ValueError:
        kind = root.tag.rpartition("}")[2]
        raise InputError(f"the server's {kind} has no number as {name}, but {text!r}") from None
