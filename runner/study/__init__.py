"""What runs of all kinds of study share: what is asked of them, reuse, recording, the engine."""

from __future__ import annotations

from runner.study.options import Options, Outlook, StudySummary
from runner.study.run import StudyRun
from runner.study.served import Served, find_served, stored_key, version_notes
from runner.study.subject import StudyFile, StudySource, Subject, Workload
from runner.study.versions import environment_versions, library_versions

__all__ = [
    "Options",
    "Outlook",
    "Served",
    "StudyFile",
    "StudyRun",
    "StudySource",
    "StudySummary",
    "Subject",
    "Workload",
    "environment_versions",
    "find_served",
    "library_versions",
    "stored_key",
    "version_notes",
]
