"""Plan, batch, schedule, retry, progress: the only package that imports ray."""

from runner.engine.capacity import Capacity
from runner.engine.job import Evaluation, Job, Observer, Settings, Sink, Source, Summary
from runner.engine.node import machine
from runner.engine.run import capacity, run, run_in_process

__all__ = [
    "Capacity",
    "Evaluation",
    "Job",
    "Observer",
    "Settings",
    "Sink",
    "Source",
    "Summary",
    "capacity",
    "machine",
    "run",
    "run_in_process",
]
