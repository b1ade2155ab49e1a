"""A watch that is led through a run step by step."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.cli.main import main
from runner.report.estimate import Estimate
from runner.report.progress import Progress
from runner.report.watch import ROWS_SHARE, Order, watch
from runner.store import Store

from .conftest import plan, recorder, synthetic_rows, table
from .test_page import data


class Script:
    """What happens while a watch sleeps, step by step; and what the watch told."""

    def __init__(self, folder: Path, steps: Iterator[Any]):
        self.folder = folder
        self.steps = steps
        self.told: list[str | tuple[str, int]] = []
        self.pauses: list[float] = []
        self.pages: list[dict[str, Any]] = []

    def find(self) -> Store | None:
        return Store.open(self.folder) if (self.folder / "attempts").is_dir() else None

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        next(self.steps)

    def waiting(self) -> None:
        self.told.append("waiting")

    def seen(self, progress: Progress, estimate: Estimate, page: Path) -> None:
        self.told.append((progress.run_id, progress.done))
        self.pages.append(data(page.read_text(encoding="utf-8")))

    def order(self) -> Order:
        return Order(self.find, lambda: self.folder / "report", 0.5, sleep=self.sleep)


def steps(folder: Path) -> Iterator[None]:
    """A store, a run without rows, some rows, the run killed, resumed and ended."""
    rows = synthetic_rows()
    record = recorder(folder)
    yield Store.create(folder) and None
    yield record([], plan(), ended=False) and None
    yield Store.open(folder).append(table(rows[:50]))
    yield None
    yield record(rows[50:100], plan(), run_id="r2", hours=1, ended=False) and None
    yield record(rows[100:], plan(), run_id="r3", hours=2) and None


def test_a_run_from_before_its_beginning_to_its_end(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    script = Script(folder, steps(folder))
    report = watch(script.order(), script)
    assert script.told == ["waiting", "waiting", ("r1", 0), ("r1", 50), ("r1", 50), ("r2", 100)]
    assert report.run_id == "r3"
    last = data(report.page.read_text(encoding="utf-8"))
    assert last["live"] is None
    assert last["answers"]
    assert report.chart_png.exists()
    for page in script.pages:
        live = page["live"]
        (done,) = (c for c in live["table"]["columns"] if c["name"] == "done")
        counts = done["v"] if "v" in done else [done["c"]] * live["table"]["rows"]
        assert sum(counts) == live["done"]
        assert page["answers"] == []
    assert min(script.pauses) >= 0.5


def test_a_watch_spends_little(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    recorder(folder)(synthetic_rows(), plan(), ended=False)
    spent: list[float] = []

    def passing() -> Iterator[None]:
        before = time.process_time()
        for _ in range(4):
            spent.append(time.process_time() - before)
            before = time.process_time()
            yield None
        raise KeyboardInterrupt

    script = Script(folder, passing())
    with pytest.raises(KeyboardInterrupt):
        watch(script.order(), script)
    # What a round without anything new costs, of the time that passes until the next.
    assert sum(spent[2:]) <= ROWS_SHARE * sum(script.pauses[2:4]) + 0.02 * len(spent)


def test_an_interrupted_watch_says_so_on_its_page(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    recorder(folder)(synthetic_rows(), plan(), ended=False)

    def interrupted() -> Iterator[None]:
        yield None
        raise KeyboardInterrupt

    script = Script(folder, interrupted())
    with pytest.raises(KeyboardInterrupt):
        watch(script.order(), script)
    page = (folder / "report" / "index.html").read_text(encoding="utf-8")
    assert data(page)["live"]["again"] is None
    assert [path.name for path in (folder / "report").iterdir()] == ["index.html"]


def test_a_run_that_was_killed_is_not_said_to_live(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    recorder(folder)(synthetic_rows(), plan(), ended=False)
    said: list[str] = []

    class Listener(Script):
        def seen(self, progress: Progress, estimate: Estimate, page: Path) -> None:
            said.append(estimate.basis)

    def interrupted() -> Iterator[None]:
        raise KeyboardInterrupt
        yield

    script = Listener(folder, interrupted())
    with pytest.raises(KeyboardInterrupt):
        watch(script.order(), script)
    assert "no evaluation has ended for" in said[0]
    assert "may have been stopped" in said[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--watch", "--published", "mlbench"], "--published takes no --watch"),
        (["--watch", "0"], "0.5"),
        (["--watch", "soon"], "not a valid float"),
        (["--watch", "--results", "file"], "this is a file"),
    ],
)
def test_what_cannot_be_watched(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    # The test's process keeps its priority.
    monkeypatch.setattr("os.nice", lambda by: by)
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as end:
        main(["report", *arguments])
    assert end.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


def test_ctrl_c_ends_a_watch(tmp_path: Path) -> None:
    recorder(tmp_path / "results")(synthetic_rows(), plan(), ended=False)
    process = subprocess.Popen(
        [sys.executable, "-m", "runner", "report", "--results", "results", "--watch", "1"],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    first = process.stderr.readline()
    assert first == f"watching run r1: open {Path('results', 'report', 'index.html')}\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "stopped watching: run r1 hadn't ended" in err
    assert "Traceback" not in err
