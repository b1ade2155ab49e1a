"""Plan, batch, schedule, retry, progress: the only package that imports ray."""

from runner.engine.capacity import Capacity
from runner.engine.job import Evaluation, Job, Observer, Settings, Sink, Source, Summary
from runner.engine.node import machine
from runner.engine.run import capacity, run, run_in_process
from runner.engine.spread import Callers, InProcess, calling

__all__ = [
    "Callers",
    "Capacity",
    "Evaluation",
    "InProcess",
    "Job",
    "Observer",
    "Settings",
    "Sink",
    "Source",
    "Summary",
    "calling",
    "capacity",
    "machine",
    "run",
    "run_in_process",
]
