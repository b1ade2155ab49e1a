"""The report's page as a reader has it: in a browser, from a file, without a network."""

from __future__ import annotations

import csv
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser

from runner.report import configurations, summary, write
from runner.report.page import Content, render
from runner.store import Store, Wanted

from .browser import Opened, chromium
from .conftest import FOLDS, evaluation, plan, recorder, synthetic_rows

HOSTILE = "</script><img src=x onerror=alert(1)><!--"
SETTING = {
    "tasks": [
        {"name": "wdbc", "rows": 500, "teams": 20, "winning": {"auc": 0.9}},
        {"name": "kc2", "rows": 400},
    ],
    "systems": [],
    "platforms": None,
}


def rows() -> list[dict[str, Any]]:
    """The made-up rows with what a drill-down shows of them."""
    found = synthetic_rows()
    for number, row in enumerate(found):
        row |= {"wall_seconds": 0.25 + number, "cpu_seconds": number / 3, "peak_mib": 7.5 + number}
        row |= {"limit_seconds": 60.0, "seed": 3, "metric": "auc", "node": "n1"}
        if row["outcome"] != "ok":
            row |= {"reason": f"reason {number}", "log_tail": f"first line\nlog {number}"}
    return found


def refits_of(store: Store) -> list[dict[str, Any]]:
    return [
        evaluation(row["task"], row["system"], row["configuration_id"], None)
        | {"score": 0.5 + 0.01 * number, "fit_seconds": 2.0}
        for number, row in enumerate(summary(store).to_pylist())
    ]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("page") / "results"
    store = recorder(folder)(rows(), plan(), ended=False)
    refits = refits_of(store)
    keys = tuple(row["key"] for row in refits)
    return recorder(folder)(
        [*rows(), *refits], plan(), run_id="r2", hours=1, tests=keys, setting=json.dumps(SETTING)
    )


@pytest.fixture(scope="module")
def report(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(store, tmp_path_factory.mktemp("report")).page


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Opened]:
    opened = Opened(browser, report)
    yield opened
    assert opened.complaints == []
    assert set(opened.requests) <= {
        report.as_uri(),
        *(url for url in opened.requests if url.startswith(("blob:", "data:"))),
    }
    opened.page.close()


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def same(text: str, value: Any) -> bool:
    if value is None or text == "":
        return value is None and text == ""
    return float(text) == value if isinstance(value, int | float) else text == str(value)


@pytest.mark.parametrize("table", ["summary", "configurations"])
def test_exported_numbers_are_the_stores(opened: Opened, store: Store, table: str) -> None:
    found = read(opened.download(f"[data-table={table}] [data-export=csv]"))
    expected = {"summary": summary, "configurations": configurations}[table](store).to_pylist()
    assert len(found) == len(expected)
    for shown, row in zip(found, expected, strict=True):
        wrong = {
            name
            for name, value in row.items()
            if not isinstance(value, bool) and not same(shown[name], value)
        }
        assert wrong == set()


def test_every_evaluation_is_there(opened: Opened, store: Store) -> None:
    found = {row["key"]: row for row in read(opened.download("#evaluations [data-export=csv]"))}
    stored = {row["key"]: row for row in store.query("from evaluations").to_pylist()}
    assert set(found) == set(stored)
    numbers = ("score", "fit_seconds", "wall_seconds", "cpu_seconds", "peak_mib", "limit_seconds")
    for key, row in stored.items():
        names = (*numbers, "outcome", "reason", "log_tail", "fold", "repeat", "task", "system")
        assert [name for name in names if not same(found[key][name], row[name])] == []


def test_summary_shows_the_stores_numbers(opened: Opened, store: Store) -> None:
    expected = summary(store).to_pylist()
    shown = [
        dict(zip(("task", "system", "auc"), row, strict=True))
        for row in zip(
            opened.texts("summary", "task"),
            opened.texts("summary", "system"),
            opened.texts("summary", "test_auc"),
            strict=True,
        )
    ]
    assert shown == [
        {"task": row["task"], "system": row["system"], "auc": f"{row['test_auc']:.4f}"}
        for row in expected
    ]
    cells = opened.page.locator("[data-table=matrix] td").all_text_contents()
    assert sorted(cells) == sorted(row["auc"] for row in shown)
    opened.page.select_option("[data-choice=measure]", "outcomes")
    cells = opened.page.locator("[data-table=matrix] td").all_text_contents()
    assert all(f"{row['ok']} ok" in " ".join(cells) for row in expected)


def test_sorting(opened: Opened, store: Store) -> None:
    scores = [row["cv_auc"] for row in configurations(store).to_pylist()]
    known = sorted(f"{score:.4f}" for score in scores if score is not None)
    unknown = ["–"] * scores.count(None)
    assert unknown
    opened.page.click("#configurations .more button")
    opened.sort("configurations", "cv_auc")
    assert opened.texts("configurations", "cv_auc") == [*reversed(known), *unknown]
    heading = opened.page.locator("[data-table=configurations] th[data-column=cv_auc]")
    assert heading.get_attribute("aria-sort") == "descending"
    opened.sort("configurations", "cv_auc")
    assert opened.texts("configurations", "cv_auc") == [*known, *unknown]
    opened.sort("configurations", "system")
    systems = opened.texts("configurations", "system")
    assert systems == sorted(systems)


def test_filtering(opened: Opened, store: Store) -> None:
    (count,) = store.query(
        "select count(*) as n from evaluations where task = 'kc2' and outcome = 'timeout'"
    )["n"].to_pylist()
    assert count
    opened.page.select_option("#evaluations [data-choice=task]", label="kc2")
    opened.page.fill("#evaluations input", "timeout")
    assert opened.texts("evaluations", "outcome") == ["timeout"] * count
    assert set(opened.texts("evaluations", "task")) == {"kc2"}
    assert opened.page.locator("#evaluations .found").text_content().startswith(f"{count} of ")
    assert len(read(opened.download("#evaluations [data-export=csv]"))) == count
    opened.page.fill("#evaluations input", "no such words")
    assert opened.texts("evaluations", "outcome") == []


def test_all_rows_can_be_shown(opened: Opened, store: Store) -> None:
    total = len(store.query("select key from evaluations"))
    assert len(opened.texts("evaluations", "outcome")) < total
    opened.page.click("#evaluations .more button")
    assert len(opened.texts("evaluations", "outcome")) == total


def test_drilling_down(opened: Opened, store: Store) -> None:
    failed = store.query(
        "select * from evaluations where outcome = 'timeout' order by key limit 1"
    ).to_pylist()[0]
    opened.page.select_option("#evaluations [data-choice=outcome]", label="timeout")
    opened.page.fill("#evaluations input", failed["reason"])
    opened.page.click("#evaluations tbody tr")
    dialog = opened.page.locator("dialog")
    assert f"{failed['system']} #{failed['configuration_id']}" in dialog.inner_text()
    assert f"leaves={failed['configuration_id']}" in dialog.inner_text()
    own = dialog.locator(f"[data-evaluation='{failed['key']}']")
    fields = {
        node.get_attribute("data-field"): node.locator("dd").inner_text()
        for node in own.locator("[data-field]").all()
    }
    assert fields["reason"] == failed["reason"]
    for name in ("wall_seconds", "cpu_seconds", "peak_mib", "limit_seconds", "memory_mib"):
        assert float(fields[name].replace(",", "")) == failed[name]
    assert own.locator("pre").inner_text() == failed["log_tail"]
    folds = store.query(
        "select count(*) as n from evaluations where task = $task and system = $system "
        "and configuration_id = $configuration_id",
        {name: failed[name] for name in ("task", "system", "configuration_id")},
    )["n"].to_pylist()[0]
    assert dialog.locator("tbody tr").count() == folds
    opened.page.keyboard.press("Escape")
    assert not dialog.is_visible()


def test_charts_tell_and_lead_on(opened: Opened, store: Store) -> None:
    rows = configurations(store).to_pylist()
    points = [row for row in rows if row["cv_auc"] is not None and row["training_seconds"]]
    marks = opened.page.locator("#auc_vs_time .mark")
    assert marks.count() == len(points)
    best = next(row for row in points if row["selected"])
    mark = opened.page.locator("#auc_vs_time .mark[tabindex]").first
    mark.hover(force=True)
    tip = opened.page.locator("#tip").inner_text()
    assert f"{best['system']} on {best['task']}" in tip
    assert f"#{best['configuration_id']} leaves={best['configuration_id']}" in tip
    assert "outcomes: 5 ok" in tip
    assert f"{best['cv_auc']:.4f}" in tip
    mark.press("Enter")
    assert opened.page.locator("dialog h2").inner_text() == (
        f"{best['system']} #{best['configuration_id']}"
    )


def test_charts_are_exported(opened: Opened) -> None:
    charts = opened.page.locator("[data-chart]")
    names = charts.evaluate_all("nodes => nodes.map(node => node.id)")
    assert "auc_vs_time" in names
    assert "figure4" in names
    for name in names:
        picture = opened.download(f"#{name} [data-export=svg]").read_text(encoding="utf-8")
        root = ElementTree.fromstring(picture)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        marks = opened.page.locator(f"#{name} .mark").count()
        assert sum("mark" in (node.get("class") or "").split() for node in root.iter()) == marks
        png = opened.download(f"#{name} [data-export=png]").read_bytes()
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = struct.unpack(">II", png[16:24])
        assert (width, height) == (
            2 * int(root.get("width") or 0),
            2 * int(root.get("height") or 0),
        )


@pytest.mark.parametrize("width", [360, 700])
def test_no_sideways_scrolling(browser: Browser, report: Path, width: int) -> None:
    opened = Opened(browser, report, width=width)
    assert opened.overflow() == 0
    opened.page.click("#configurations tbody tr")
    assert opened.overflow() == 0
    inner = "node => node.scrollWidth - node.clientWidth"
    assert opened.page.locator("dialog").evaluate(inner) <= 0
    opened.page.close()


def test_a_heat_map_is_readable_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    rows = [(f"task {task}", model) for task in range(20) for model in ("C-LR", "C-BDT")]
    cells = [
        {"x": int(task[5:]), "y": ("C-LR", "C-BDT").index(model), "value": 12.345}
        | {"regime": "low", "pair": [task, model]}
        for task, model in rows
    ]
    names = [f"task {task}" for task in range(20)]
    chart = {"id": "figure6", "title": "Capacity", "columns": names, "rows": ["C-LR", "C-BDT"]}
    page = tmp_path / "index.html"
    page.write_text(render(Content("s", (), (), (), (), (chart | {"cells": cells},))))
    opened = Opened(browser, page, width=360)
    shown = opened.page.locator("#figure6 .mark")
    assert shown.count() == len(rows)
    script = "nodes => nodes.map(node => node.getBoundingClientRect().width)"
    boxes = opened.page.locator("#figure6 .mark rect").evaluate_all(script)
    numbers = opened.page.locator("#figure6 .mark text").evaluate_all(script)
    assert all(number < box for number, box in zip(numbers, boxes, strict=True))
    assert min(boxes) >= 36
    assert opened.overflow() == 0
    assert opened.complaints == []
    opened.page.close()


def test_duds_do_not_press_the_others_together(browser: Browser, tmp_path: Path) -> None:
    scores = [0.5, 0.6, *(0.95 + 0.001 * number for number in range(30))]
    found = [
        evaluation("wdbc", "C-LR", number, fold) | {"score": score, "fit_seconds": 1.0 + number}
        for number, score in enumerate(scores)
        for fold in range(FOLDS)
    ]
    wanted = Wanted("wdbc", "C-LR", FOLDS, tuple(row["key"] for row in found))
    store = recorder(tmp_path / "results")(found, (wanted,))
    opened = Opened(browser, write(store, tmp_path / "report").page)
    places = opened.page.locator("#auc_vs_time .mark").evaluate_all(
        "nodes => nodes.map(node => node.getBoundingClientRect().top)"
    )
    frame = opened.page.locator("#auc_vs_time .frame").bounding_box()
    assert frame is not None
    # The upper thirty use most of the height; the lower two stand on the edge, and it says so.
    upper = sorted(places)[:30]
    assert upper[-1] - upper[0] > 0.5 * frame["height"]
    told = opened.page.locator("#auc_vs_time svg").text_content()
    assert told is not None
    assert "on this edge: 2 lower" in told
    opened.page.close()


def test_print(opened: Opened) -> None:
    opened.page.set_viewport_size({"width": 700, "height": 990})
    opened.page.emulate_media(media="print", color_scheme="dark")
    opened.page.wait_for_function(
        "document.querySelector('#auc_vs_time svg').getBoundingClientRect().right <= 700"
    )
    assert opened.overflow() == 0
    widest = "nodes => Math.max(...nodes.map(node => node.getBoundingClientRect().right))"
    assert opened.page.locator("table").evaluate_all(widest) <= 700
    paper = "getComputedStyle(document.body).backgroundColor"
    assert opened.page.evaluate(paper) == "rgb(255, 255, 255)"
    assert not opened.page.locator("[data-export]").first.is_visible()


def test_dark_where_the_browser_wishes(browser: Browser, report: Path) -> None:
    light, dark = Opened(browser, report), Opened(browser, report, dark=True)
    script = "getComputedStyle(document.body).backgroundColor"
    assert light.page.evaluate(script) != dark.page.evaluate(script)
    light.page.close()
    dark.page.close()


def test_nothing_can_be_asked_of_a_host(opened: Opened) -> None:
    blocked = opened.page.evaluate(
        "fetch('https://example.org/').then(() => 'answered', () => 'refused')"
    )
    assert blocked == "refused"
    # The browser says so itself.
    assert all("Content Security Policy" in text for text in opened.complaints)
    opened.complaints.clear()
    opened.requests[:] = [url for url in opened.requests if "example.org" not in url]


def test_hostile_texts_stay_texts(browser: Browser, tmp_path: Path) -> None:
    base = [evaluation("wdbc", "C-LR", 0, fold) for fold in range(2)]
    told = {"error": HOSTILE, "log_tail": HOSTILE, "reason": HOSTILE, "outcome": "error"}
    named = {"configuration": json.dumps({"name": HOSTILE}), "node": HOSTILE, "machine": HOSTILE}
    rows = [
        base[0] | named | {"score": 0.5, "fit_seconds": 1.0},
        base[1] | named | told,
    ]
    planned = plan()[1]
    keys = tuple(row["key"] for row in rows)
    hostile = type(planned)(HOSTILE, HOSTILE, 2, keys)
    store = recorder(tmp_path / "results")(rows, (hostile,))
    opened = Opened(browser, write(store, tmp_path / "report").page)
    opened.page.click("#configurations tbody tr")
    assert opened.page.locator("dialog pre").inner_text() == HOSTILE
    assert HOSTILE in opened.page.locator("dialog h2").inner_text()
    assert opened.page.locator("img").count() == 0
    assert opened.complaints == []
    assert len(opened.requests) == 1
    opened.page.close()
