"""What the OpenML server has: asked politely, kept on disk, read without a network from there."""

from runner.openml.archive import Archive, TaskFiles
from runner.openml.records import DatasetRecord, Evaluation, RunRecord, TaskRecord
from runner.openml.server import (
    GoneError,
    NoResultError,
    Pace,
    RefusedError,
    Server,
    UnreachableError,
)

__all__ = [
    "Archive",
    "DatasetRecord",
    "Evaluation",
    "GoneError",
    "NoResultError",
    "Pace",
    "RefusedError",
    "RunRecord",
    "Server",
    "TaskFiles",
    "TaskRecord",
    "UnreachableError",
]
