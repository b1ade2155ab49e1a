"""``runner ci size``: the plan for people and for programs, without what studies need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main

FILE = """\
ml:
  - script     : ./test_model.py
  - condition  : d < 0.1 +/- 0.01 /\\ n - o > 0.02 +/- 0.01
  - reliability: 0.9999
  - mode       : fp-free
  - adaptivity : full
  - steps      : 32
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / ".travis.yml"
    path.write_text(FILE)
    return path


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["ci", "size", *arguments])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    status, out, _ = ask(capsys, *arguments, "--json")
    assert status == 0
    document = json.loads(out)
    assert isinstance(document, dict)
    return document


def test_the_bounds_by_name(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = {
        bound: as_json(capsys, str(file), "--bound", bound)["labels"]
        for bound in ("auto", "hoeffding", "bennett")
    }
    assert labels == {"auto": 80822, "hoeffding": 655547, "bennett": 67706}
    document = as_json(capsys, str(file))
    assert document["labels"] == 80822
    assert document["clauses"][document["deciding"]]["bound"] == document["bound"] == "bennett"
    others = {other["name"]: other["labels"] for other in document["alternatives"]}
    assert (others["hoeffding"], others["none"]) == (655547, 34675)
    assert document["active"]["fresh"] == 3136


def test_hours_of_labelling(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = as_json(capsys, str(file))
    assert alone["hours"] == pytest.approx(80822 * 2 / 3600)
    shared = as_json(capsys, str(file), "--people", "4", "--seconds-per-label", "5")
    assert shared["hours"] == pytest.approx(80822 * 5 / 3600 / 4)


def test_for_people(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = ask(capsys, str(file))
    assert status == 0
    for text in ("80,822 labels", "145,680 rows without labels", "(decides)", "44.9 hours"):
        assert text in out
    file.write_text(FILE.replace(" /\\ n - o > 0.02 +/- 0.01", ""))
    status, out, _ = ask(capsys, str(file))
    assert "need no labels" in out
    assert "hours" not in out
    file.write_text(FILE.replace("d < 0.1 +/- 0.01 /\\ n - o > 0.02", "n > 0.999"))
    status, out, _ = ask(capsys, str(file))
    assert "can never pass" in out


@pytest.mark.parametrize(
    ("change", "arguments", "said"),
    [
        (("n - o", "n o"), [], ".travis.yml:3: column 23 of the condition: unexpected 'o'"),
        (("", ""), ["--bound", "benet"], "'bennett'"),
        (("", ""), ["--bound", "binomial"], "one variable"),
        (("/\\ n - o > 0.02", "/\\ n + o > 0.02"), ["--bound", "bennett"], "bennett holds for"),
        (("0.02 +/- 0.01", "0.02 +/- 1e-9"), ["--bound", "hoeffding"], "more than"),
        (("", ""), ["--people", "0"], "people"),
    ],
)
def test_what_is_refused_in_one_line(
    file: Path,
    capsys: pytest.CaptureFixture[str],
    change: tuple[str, str],
    arguments: list[str],
    said: str,
) -> None:
    file.write_text(FILE.replace(*change) if change[0] else FILE)
    status, out, err = ask(capsys, str(file), *arguments)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_nothing_of_studies_is_imported(file: Path) -> None:
    code = (
        "import sys\nfrom runner.cli import main\n"
        f"try: main(['ci', 'size', {str(file)!r}])\n"
        "finally: print([m for m in ('ray', 'sklearn', 'scipy', 'pandas', 'numpy', 'pyarrow')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_sequential_test_is_expected_to_take_fewer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ci.yaml"
    keys = "reliability: 0.9999\nmode: fp-free\nadaptivity: none\nsteps: 32\ndifference: 0.1\n"
    path.write_text(f"condition: n - o > 0.02 +/- 0.01\nmethod: sequential\n{keys}")
    found = as_json(capsys, str(path))
    assert found["method"] == "sequential"
    assert found["labels"] == found["sequential"]["most"] == 29048
    assert found["sequential"]["effect"] == pytest.approx([0.04])
    assert found["sequential"]["median"] < 29048 / 3
    sooner = as_json(capsys, str(path), "--effect", "0.04")
    assert sooner["sequential"]["median"] < found["sequential"]["median"] / 2
    status, out, _ = ask(capsys, str(path))
    assert status == 0
    assert "sequential: at most 29,048 labels" in out
    path.write_text(path.read_text().replace("sequential", "fixed"))
    status, _, err = ask(capsys, str(path), "--effect", "0.04")
    assert status == 2
    assert "method: sequential" in err


def test_metrics_say_what_they_need_of_each_class(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ci.yaml"
    keys = "reliability: 0.99\nmode: fp-free\nadaptivity: full\nsteps: 8\n"
    condition = "condition: auc(n) > 0.9 +/- 0.03 /\\ f1(n) > 0.8 +/- 0.05\n"
    path.write_text(condition + keys)
    status, _, err = ask(capsys, str(path))
    assert status == 2
    assert "ci.yaml:1:" in err
    assert "positive: spam" in err
    path.write_text(f"{condition}{keys}positive: spam\n")
    found = as_json(capsys, str(path))
    assert found["positives"] == found["negatives"] == found["labels"] / 2
    path.write_text(f"{condition}{keys}positive: spam\nclass_share: 0.1\n")
    assert as_json(capsys, str(path))["labels"] == 10 * found["positives"]
