"""Plan, batch, schedule, retry, progress: the only package that imports ray."""

from runner.engine.job import Evaluation, Job, Observer, Settings, Sink, Source, Summary

__all__ = ["Evaluation", "Job", "Observer", "Settings", "Sink", "Source", "Summary"]
