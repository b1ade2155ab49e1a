"""``runner ci drift``: alarms from files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from runner.cli import main


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["ci", "drift", *map(str, arguments)])
    return int(ended.value.code or 0)


@pytest.fixture
def weeks(tmp_path: Path) -> list[Path]:
    """Six weeks of 800 rows; from the fourth on the model is right on fewer."""
    rng = np.random.default_rng(0)
    files = []
    for week in range(6):
        labels = rng.integers(0, 2, 800)
        wrong = rng.random(800) < (0.1 if week < 3 else 0.25)
        lines = [
            f"{week}-{i},{y},{y ^ int(w)}"
            for i, (y, w) in enumerate(zip(labels, wrong, strict=True))
        ]
        files.append(tmp_path / f"week-{week}.csv")
        files[-1].write_text("\n".join(["id,label,prediction", *lines, ""]))
    return files


@pytest.mark.parametrize(
    "options", [[], ["--level", "0.87"], ["--metric", "f1", "--positive", "1"]]
)
def test_an_alarm_with_its_date(
    weeks: list[Path], options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*weeks[:3], *options) == 0
    assert capsys.readouterr().out.startswith("no drift")
    assert run(*weeks, *options, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["alarm"]
    assert Path(document["alarm_at"]) in weeks[3:5]
    assert Path(document["since"]) in weeks[2:4]
    assert document["sets"][0]["value"] == pytest.approx(0.9, abs=0.04)
    assert run(*weeks, *options) == 1
    assert f"drift at {document['alarm_at']}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--metric", "recal", "--positive", "1"], "did you mean 'recall'?"),
        (["--metric", "recall"], "needs --positive"),
        (["--positive", "1"], "doesn't need --positive"),
        (["--metric", "f1", "--positive", "spam"], "no row of the class 'spam'"),
    ],
)
def test_refusals(
    weeks: list[Path], options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(weeks[0], *options) == 2
    assert said in capsys.readouterr().err


def test_files_that_arent_right(weeks: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    weeks[0].write_text("id,label,prediction\n1,0,0\n2,1,\n")
    assert run(weeks[0]) == 2
    assert "1 rows have no prediction" in capsys.readouterr().err
    weeks[0].write_text("id,label,prediction\n")
    assert run(weeks[0]) == 2
    assert "has no rows" in capsys.readouterr().err


def test_the_same_rows_twice(weeks: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(weeks[0], weeks[0]) == 2
    assert "800 of 800 ids stand in" in capsys.readouterr().err
    text = weeks[1].read_text()
    weeks[1].write_text(text + text.splitlines()[1] + "\n")
    assert run(weeks[0], weeks[1]) == 2
    assert "1 ids stand more than once" in capsys.readouterr().err
