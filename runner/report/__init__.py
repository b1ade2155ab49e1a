"""Tables and charts of a run's results."""

from __future__ import annotations

from runner.report.external import EXTERNAL, Entered, enter_score
from runner.report.files import Report, write
from runner.report.submissions import SubmissionFile
from runner.report.summary import CONFIGURATIONS, SUMMARY, configurations, summary
from runner.report.table import SummaryTable

__all__ = [
    "CONFIGURATIONS",
    "EXTERNAL",
    "SUMMARY",
    "Entered",
    "Report",
    "SubmissionFile",
    "SummaryTable",
    "configurations",
    "enter_score",
    "summary",
    "write",
]
