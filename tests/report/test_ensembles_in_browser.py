"""The page of a study of ensembles as a reader has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from runner.ensemble.statistics import rank
from runner.report.ensembles import write_ensembles

from .browser import Opened, chromium
from .test_ensembles import FOLDS, TECHNIQUES, drawn, facts, outcome

TASKS = 6


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = outcome([facts(n) for n in range(TASKS)], drawn(TASKS))
    return write_ensembles(found, tmp_path_factory.mktemp("page")).page


@pytest.mark.parametrize("width", [1200, 360])
def test_charts_show_every_fold_and_every_rank(browser: Browser, page: Path, width: int) -> None:
    opened = Opened(browser, page, width)
    assert opened.complaints == []
    assert opened.overflow() <= 0
    assert [url for url in opened.requests if not url.startswith("file:")] == []
    marks = opened.page.locator("[data-chart=scores1] path.mark")
    # Four tasks a chart: a point a fold, and a mean.
    assert marks.count() == 4 * len(TECHNIQUES) * (FOLDS + 1)
    small = opened.page.locator("[data-chart=scores1] path.mark.small")
    assert small.count() == 4 * len(TECHNIQUES) * FOLDS
    assert opened.page.locator("[data-chart=scores2] path.mark").count() == 2 * len(TECHNIQUES) * (
        FOLDS + 1
    )

    ranking = rank(outcome([facts(n) for n in range(TASKS)], drawn(TASKS)).contenders)
    assert ranking is not None
    names = opened.page.locator("[data-chart=critical_difference] g.mark text").all_text_contents()
    expected = {
        f"{name} {mean:.2f}" for name, mean in zip(ranking.techniques, ranking.ranks, strict=True)
    }
    assert {" ".join(sorted(name.split(), reverse=True)) for name in names} == expected


def test_tables_sort_and_answers_stand_on_the_page(browser: Browser, page: Path) -> None:
    opened = Opened(browser, page)
    opened.sort("table2", "mean")
    means = [float(text) for text in opened.texts("table2", "mean")]
    assert means in (sorted(means), sorted(means, reverse=True))
    answers = (page.parent / "answers.txt").read_text().split("\n\n")
    shown = opened.page.locator("#answers .prose p").all_text_contents()
    assert shown == [answer for answer in answers if answer]
