"""The report as one HTML file that needs nothing else: no network, no server, no other file."""

from __future__ import annotations

from runner.report.page.content import Content, of_run, of_study, run_facts
from runner.report.page.document import render, write_page

__all__ = ["Content", "of_run", "of_study", "render", "run_facts", "write_page"]
