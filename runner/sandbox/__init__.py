"""Limits and measurement of one evaluation. Knows no Ray."""

from runner.sandbox.contract import Finding, Limits, Outcome, Report, Result, Usage, Work

__all__ = ["Finding", "Limits", "Outcome", "Report", "Result", "Usage", "Work"]
