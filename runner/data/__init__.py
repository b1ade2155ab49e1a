"""Tasks: where they come from, their splits, and their preparation for a fit."""

from runner.data.description import ColumnDescription, TaskDescription, describe
from runner.data.preparation import (
    PREPARATION_VERSION,
    Prepared,
    arrays,
    prepare,
    prepared_columns,
    uses_target_encoder,
)
from runner.data.sources import BundledSource, FileSource, OpenmlSource, TaskSource, load
from runner.data.splits import Split, split
from runner.data.task import UNLABELLED, Column, Task, TaskError

__all__ = [
    "PREPARATION_VERSION",
    "UNLABELLED",
    "BundledSource",
    "Column",
    "ColumnDescription",
    "FileSource",
    "OpenmlSource",
    "Prepared",
    "Split",
    "Task",
    "TaskDescription",
    "TaskError",
    "TaskSource",
    "arrays",
    "describe",
    "load",
    "prepare",
    "prepared_columns",
    "split",
    "uses_target_encoder",
]
