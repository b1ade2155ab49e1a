"""The page of a real run, open in a browser from its first evaluation to its end."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from runner.report.estimate import estimate
from runner.report.files import preview
from runner.report.live import Watched, live
from runner.report.page import write_page
from runner.report.progress import ProgressReader
from runner.store import Store

from .browser import Opened, chromium
from .conftest import plan, recorder, synthetic_rows, table

# Evaluations that take as long on every machine, so that the run is there to be looked at.
SLOW = """
import time
from sklearn.dummy import DummyClassifier


class Slow(DummyClassifier):
    def __init__(self, turn=0):
        super().__init__()
        self.turn = turn

    def fit(self, X, y):
        time.sleep(0.4)
        return super().fit(X, y)
"""
STUDY = f"""
kind: sweep
name: alive
tasks: [sklearn: breast_cancer]
systems:
  - C-AP
  - C-SVM: {{iterations: [1, 10]}}
  - C-LR: {{l1: [0, 1], l2: [0.1, 1], memory: [20]}}
  - {{estimator: "slow:Slow", name: slow, grid: {{turn: [0, 1, 2, 3, 4]}}}}
sandbox: {{cpus: {max(1, (os.cpu_count() or 1) // 2)}, memory: 1GB, seconds: 600}}
"""
SECONDS = 120_000
"""More than the whole takes on a busy machine, in Playwright's unit."""


@contextmanager
def runner(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command that goes on meanwhile; ended if the test ends first."""
    process = subprocess.Popen(
        [sys.executable, "-m", "runner", *arguments],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@dataclass
class Lived:
    """What a reader saw who left the page alone, and where the run is.

    Attributes:
        counts: How many evaluations were done, on each page that showed another number.
        order: How the table was sorted then, by its heading.
    """

    store: Store
    opened: Opened
    report: str
    counts: list[int] = field(default_factory=list)
    order: list[str | None] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def lived(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lived]:
    folder = tmp_path_factory.mktemp("alive")
    (folder / "slow.py").write_text(SLOW)
    (folder / "study.yaml").write_text(STUDY)
    with (
        runner(folder, "report", "--results", "results", "--watch", "1") as watch,
        runner(folder, "sweep", "study.yaml", "--results", "results") as sweep,
    ):
        assert watch.stderr is not None
        assert "waiting for a run" in watch.stderr.readline()
        assert "watching run" in watch.stderr.readline()
        page = folder / "results" / "report" / "index.html"
        lived = Lived(Store.open(folder / "results"), Opened(browser, page), "")
        look_on(lived)
        lived.report, _ = watch.communicate(timeout=60)
        sweep.communicate(timeout=60)
        assert (watch.returncode, sweep.returncode) == (0, 0)
    yield lived
    lived.opened.page.close()


def look_on(lived: Lived) -> None:
    """Sort and filter a table once, then only look."""
    page = lived.opened.page
    lived.opened.sort("live", "system")
    lived.opened.sort("live", "system")
    page.fill("[data-table=live] input", "breast")
    done = "-1"
    while not page.locator(".live.ended").count():
        page.wait_for_function(
            "done => document.querySelector('.live.ended')"
            " || (document.querySelector('#live[data-done]')?.dataset.done ?? done) !== done",
            arg=done,
            timeout=SECONDS,
        )
        seen = page.evaluate(
            """() => [
                document.querySelector("#live")?.dataset.done,
                document.querySelector("[data-table=live] [aria-sort]")?.ariaSort,
                document.querySelector("[data-table=live] input")?.value,
            ]"""
        )
        if seen[0] is not None:
            done = seen[0]
            lived.counts.append(int(done))
            lived.order.append(seen[1])
            lived.words.append(seen[2])


def test_the_count_rises_untouched(lived: Lived) -> None:
    assert len(lived.counts) >= 2
    assert lived.counts == sorted(set(lived.counts))
    assert set(lived.order) == {"descending"}
    assert set(lived.words) == {"breast"}


def test_the_last_page_says_that_the_run_has_ended(lived: Lived) -> None:
    expect(lived.opened.page.locator(".live")).to_have_text(
        "The run has ended; this is its whole report."
    )
    facts = lived.opened.page.locator(".facts").first.inner_text()
    (ended,) = lived.store.query("select strftime(ended_at, '%Y-%m-%d %H:%M:%S') as at from runs")[
        "at"
    ].to_pylist()
    assert f"{ended} UTC" in facts
    assert "page:" in lived.report
    assert lived.opened.complaints == []
    assert set(lived.opened.requests) == {lived.opened.file.as_uri()}


def test_the_numbers_are_the_stores(lived: Lived) -> None:
    file = lived.opened.download("#evaluations [data-export=csv]")
    with file.open(newline="", encoding="utf-8") as text:
        found = {row["key"]: row for row in csv.DictReader(text)}
    stored = lived.store.query("from evaluations").to_pylist()
    assert {row["key"] for row in stored} == set(found)
    for row in stored:
        shown = found[row["key"]]
        assert float(shown["score"]) == row["score"]
        assert float(shown["fit_seconds"]) == row["fit_seconds"]
        assert (shown["system"], shown["outcome"]) == (row["system"], row["outcome"])


def test_the_selection_is_the_best_mean_of_the_store(lived: Lived) -> None:
    best = lived.store.query(
        """
        select system, max(auc) as auc, sum(seconds) as seconds from (
            select system, configuration_id, avg(score) as auc, sum(fit_seconds) as seconds
            from evaluations where stage = 'cv' group by all
        ) group by system
        """
    ).to_pylist()
    with lived.opened.download("[data-table=summary] [data-export=csv]").open() as text:
        shown = {row["system"]: row for row in csv.DictReader(text)}
    assert set(shown) == {row["system"] for row in best}
    for row in best:
        assert float(shown[row["system"]]["cv_auc"]) == pytest.approx(row["auc"], rel=1e-12)
        total = float(shown[row["system"]]["total_training_seconds"])
        assert total == pytest.approx(row["seconds"], rel=1e-9)


def write(store: Store, folder: Path, again: float | None = 1.0) -> Path:
    """The page of a run as a watch writes it at this moment."""
    progress = ProgressReader(store).read()
    assert progress is not None
    now = time.time()
    told = live(progress, estimate(progress, now), Watched(now, now, again))
    return write_page(replace(preview(store, progress.run_id), live=told), folder)


def done(opened: Opened) -> int:
    return int(opened.page.locator("#live").get_attribute("data-done") or -1)


def test_a_reader_is_left_in_peace(browser: Browser, tmp_path: Path) -> None:
    rows = synthetic_rows()
    store = recorder(tmp_path / "results")(rows[:60], plan(), ended=False)
    opened = Opened(browser, write(store, tmp_path))
    page = opened.page
    page.select_option("[data-choice=measure]", "outcomes")
    page.locator("#evaluations tbody tr").nth(5).click()
    store.append(table(rows[60:]))
    write(store, tmp_path)
    page.wait_for_timeout(2500)
    assert done(opened) == 60
    assert page.locator("dialog").is_visible()
    top = "document.querySelector('#evaluations').getBoundingClientRect().top"
    before = page.evaluate(top)
    page.keyboard.press("Escape")
    page.wait_for_selector(f"#live[data-done='{len(rows)}']")
    # More rows stand above it now, and it stands where it stood.
    assert abs(page.evaluate(top) - before) < 3
    assert page.locator("[data-choice=measure]").input_value() == "outcomes"
    assert opened.complaints == []
    page.close()


def test_a_paused_page_stays(browser: Browser, tmp_path: Path) -> None:
    rows = synthetic_rows()
    store = recorder(tmp_path / "results")(rows[:60], plan(), ended=False)
    opened = Opened(browser, write(store, tmp_path))
    opened.page.click("[data-keep=pause]")
    store.append(table(rows[60:]))
    write(store, tmp_path, again=None)
    opened.page.wait_for_timeout(2500)
    assert done(opened) == 60
    opened.page.click("[data-keep=pause]")
    opened.page.wait_for_selector(f"#live[data-done='{len(rows)}']")
    # That page is the last: nobody goes on with it.
    loads = len(opened.requests)
    opened.page.wait_for_timeout(2500)
    assert len(opened.requests) == loads
    opened.page.close()
