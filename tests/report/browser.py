"""Debian's Chromium, driven by Playwright, and the report's page opened in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL = "no Chromium here; `make browser` or `apt-get install chromium` installs it"


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; where there is none, the tests that want one are skipped, save in CI."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail(INSTALL)
        pytest.skip(INSTALL)
    # Chromium's own sandbox can't be made by root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


class Opened:
    """The page in a tab of its own, with what it asked for and complained about."""

    def __init__(self, browser: Browser, file: Path, width: int = 1200, dark: bool = False):
        self.file = file
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page: Page = browser.new_page(
            viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light"
        )
        self.page.set_default_timeout(10_000)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.goto(file.as_uri())

    def texts(self, table: str, column: str) -> list[str]:
        """The shown cells of a table's column."""
        found = self.page.locator(f"[data-table={table}] thead th")
        names = found.evaluate_all("cells => cells.map(cell => cell.dataset.column)")
        cells = f"[data-table={table}] tbody tr > :nth-child({names.index(column) + 1})"
        return self.page.locator(cells).all_text_contents()

    def sort(self, table: str, column: str) -> None:
        self.page.click(f"[data-table={table}] th[data-column={column}] button")

    def download(self, selector: str) -> Path:
        """The file that a button hands out."""
        with self.page.expect_download() as download:
            self.page.click(selector)
        return Path(download.value.path())

    def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        script = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return int(self.page.evaluate(script))
