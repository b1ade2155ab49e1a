"""Limits and measurement of one evaluation. Knows no Ray.

The owner's side: ``sandbox`` (a slot's), ``warm`` (its zygote), ``execution`` (one work),
``confinement`` with ``memory``, ``crowd`` and ``clock`` (its limits), ``means`` and ``jail`` (what
works here for our own code, and for somebody else's), ``owner`` (names, leftovers). The other side:
``namespaces``, ``zygote``, ``child``, ``task``, ``shared_memory``. Apart from any machine:
``ledger`` (what became of each evaluation), ``wire`` (messages), ``explanation`` (means in words).
"""

from runner.sandbox.contract import Finding, Limits, Outcome, Report, Result, Trust, Usage, Work
from runner.sandbox.explanation import (
    Holding,
    Surroundings,
    explain,
    missing_confinement,
    surroundings,
)
from runner.sandbox.inprocess import InProcess
from runner.sandbox.means import Means, probe
from runner.sandbox.owner import sweep_leftovers
from runner.sandbox.sandbox import Sandbox

__all__ = [
    "Finding",
    "Holding",
    "InProcess",
    "Limits",
    "Means",
    "Outcome",
    "Report",
    "Result",
    "Sandbox",
    "Surroundings",
    "Trust",
    "Usage",
    "Work",
    "explain",
    "missing_confinement",
    "probe",
    "surroundings",
    "sweep_leftovers",
]
