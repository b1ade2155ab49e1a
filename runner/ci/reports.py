"""What CI systems show of a step: JUnit XML, and a summary in Markdown."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path

from runner.errors import InputError

# What XML 1.0 can't hold, however it is written.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Report:
    """What the developer may be shown.

    Attributes:
        verdict: ``pass`` or ``fail``; ``recorded`` where the developer isn't told; ``none`` where
            no verdict could be given.
        account: A line on the test set's state; empty if nothing is known.
        details: What a release tells beyond the verdict, or why there is none.
    """

    condition: str
    verdict: str
    account: str = ""
    details: tuple[str, ...] = ()


def write_junit(path: Path, report: Report) -> None:
    """Write a JUnit file of one test: the condition. No verdict is an error, not a failure.

    Raises:
        InputError: If it can't be written.
    """
    failures, errors = report.verdict == "fail", report.verdict == "none"
    outcome = ""
    if failures:
        outcome = f"<failure message={_attribute('the condition is not met')}/>"
    if errors:
        outcome = f"<error message={_attribute('; '.join(report.details))}/>"
    told = "\n".join(filter(None, (report.account, *(() if errors else report.details))))
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuite name="runner ci" tests="1" failures="{int(failures)}" '
        f'errors="{int(errors)}" skipped="0">\n'
        f'  <testcase classname="runner.ci" name={_attribute(report.condition)}>'
        f"{outcome}<system-out>{_xml(told)}</system-out></testcase>\n"
        "</testsuite>\n"
    )
    _write(path, text, "w")


def append_summary(path: Path, report: Report) -> None:
    """Add a summary in Markdown to a file, as CI systems want it that gather those of all steps.

    Raises:
        InputError: If it can't be written.
    """
    words = {
        "pass": "passed",
        "fail": "failed",
        "recorded": "recorded; the result goes to the integration team",
        "none": "no verdict",
    }
    # The condition's own marks are none of Markdown's inside a code span.
    lines = [f"### Condition `{_line(report.condition)}`: {words[report.verdict]}", ""]
    lines += [f"- {_markdown(line)}" for line in (*report.details, report.account) if line]
    _write(path, "\n".join(lines) + "\n\n", "a")


def _write(path: Path, text: str, mode: str) -> None:
    try:
        with path.open(mode, encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"can't be written: {error.strerror}", file=path) from None


def _attribute(text: str) -> str:
    return f'"{_xml(" ".join(text.split()))}"'


def _xml(text: str) -> str:
    return html.escape(_NOT_XML.sub("?", text))


def _line(text: str) -> str:
    return " ".join(text.replace("`", "'").split())


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]|#])", r"\\\1", " ".join(text.split()))
