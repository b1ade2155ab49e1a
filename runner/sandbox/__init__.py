"""Limits and measurement of one evaluation. Knows no Ray."""

from runner.sandbox.contract import Finding, Limits, Outcome, Report, Result, Usage, Work
from runner.sandbox.inprocess import InProcess
from runner.sandbox.means import Means, probe
from runner.sandbox.owner import sweep_leftovers
from runner.sandbox.sandbox import Sandbox

__all__ = [
    "Finding",
    "InProcess",
    "Limits",
    "Means",
    "Outcome",
    "Report",
    "Result",
    "Sandbox",
    "Usage",
    "Work",
    "probe",
    "sweep_leftovers",
]
