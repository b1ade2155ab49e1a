"""``method: sequential`` on files and a ledger: label, ask again, and one step in the end."""

from __future__ import annotations

import csv
import json
from functools import partialmethod
from pathlib import Path

import numpy as np
import pytest

from runner.ci import load_ci_file
from runner.ci.account import BEGUN
from runner.ci.ledger import Ledger, Record
from runner.ci.ledgers import begun_accounts
from runner.ci.sequential import make_sequential_plan
from runner.cli import main

FILE = """\
condition: n - o > 0.02 +/- 0.06
reliability: 0.95
mode: fp-free
adaptivity: full
steps: 2
difference: 0.3
method: sequential
testset: {name: first, labels: labels.csv}
"""


def write(path: Path, name: str, values: list[str]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["id", name], *([str(i), v] for i, v in enumerate(values))])
    path.chmod(0o600)


def ran(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["ci", *map(str, arguments)])
    return int(ended.value.code or 0)


def test_labels_come_until_the_verdict_is_certain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    rows = 3000
    truth = rng.integers(0, 2, rows)
    right = {"old": rng.random(rows) < 0.75, "new": rng.random(rows) < 0.95}
    for model, marked in right.items():
        write(tmp_path / f"{model}.csv", "prediction", [str(v) for v in truth ^ ~marked])
    (tmp_path / "ci.yaml").write_text(FILE)
    labels = [""] * rows
    asked = 0
    arguments = ["test", tmp_path / "ci.yaml", "--to-label", tmp_path / "next.csv"]
    arguments += ["--old", tmp_path / "old.csv", "--new", tmp_path / "new.csv"]
    looks = 0
    while looks < 100:
        looks += 1
        write(tmp_path / "labels.csv", "label", labels)
        status = ran(*arguments)
        said = capsys.readouterr()
        if status != 3:
            break
        assert "no verdict yet: label" in said.err
        ids = [int(line) for line in (tmp_path / "next.csv").read_text().split()[1:]]
        assert all(not labels[i] for i in ids)
        for i in ids:
            labels[i] = str(truth[i])
        asked += len(ids)
    assert (status, said.out.split(":")[0]) == (0, "pass")
    assert "step 1 of 2" in said.out
    assert looks > 2
    # Only rows are labelled on which the models differ, and few of those.
    assert asked < 0.05 * rows
    assert ran(*arguments) == 0
    assert "step 1 of 2" in capsys.readouterr().out
    file = load_ci_file(tmp_path / "ci.yaml")
    most = make_sequential_plan(file.guarantee).fixed.labels
    assert ran("status", tmp_path / "ci.yaml") == 0
    assert f"the next needs {most:,} labels" in capsys.readouterr().out


def begin(folder: Path, steps: int = 2, reliability: float = 0.95, rows: int = 3000) -> list[str]:
    """A condition on labels of which the first tenth is known; returns the labels."""
    text = FILE.replace("steps: 2", f"steps: {steps}").replace("0.95", f"{reliability}")
    (folder / "ci.yaml").write_text(text)
    truth = [str(v) for v in np.random.default_rng(1).integers(0, 2, rows)]
    write(folder / "labels.csv", "label", truth[: rows // 10] + [""] * (rows - rows // 10))
    return truth


def flipped(truth: list[str], rate: float, seed: int) -> list[str]:
    drawn = np.random.default_rng(seed).random(len(truth)) < rate
    return [str(1 - int(v)) if wrong else v for v, wrong in zip(truth, drawn, strict=True)]


def judged(folder: Path, new: str, *more: str) -> int:
    old_new = ["--old", folder / "old.csv", "--new", folder / f"{new}.csv"]
    return ran("test", folder / "ci.yaml", *old_new, *more)


def test_a_test_that_is_begun_counts_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = begin(tmp_path)
    write(tmp_path / "old.csv", "prediction", flipped(truth, 0.25, 1))
    for name, rate in {"a": 0.05, "b": 0.2, "c": 0.1}.items():
        write(tmp_path / f"{name}.csv", "prediction", flipped(truth, rate, ord(name)))
    for name, said in [("a", "step 1 of 2 is begun"), ("a", "step 1"), ("b", "step 2 of 2")]:
        assert judged(tmp_path, name) == 3
        assert said in capsys.readouterr().err
    assert judged(tmp_path, "c") == 3
    assert "all 2 steps are taken, 2 of them begun" in capsys.readouterr().err
    assert ran("status", tmp_path / "ci.yaml", "--json") == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["used"], status["begun"], status["left"]) == (2, 2, 0)
    assert ran("status", tmp_path / "ci.yaml") == 0
    assert "2 begun and waiting for labels" in capsys.readouterr().out
    write(tmp_path / "labels.csv", "label", truth)
    # Those that were begun end, each with its number, and no other can begin.
    for name, said in {"b": (1, "step 2 of 2, 0 left"), "a": (0, "step 1 of 2, 0 left")}.items():
        assert judged(tmp_path, name) == said[0]
        assert said[1] in capsys.readouterr().out
    assert judged(tmp_path, "c") == 3
    assert "all 2 steps are taken;" in capsys.readouterr().err
    assert judged(tmp_path, "a") == 0
    assert "judged before" in capsys.readouterr().out


def test_a_test_goes_on_by_the_plan_it_was_begun_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = begin(tmp_path)
    write(tmp_path / "old.csv", "prediction", flipped(truth, 0.25, 1))
    write(tmp_path / "a.csv", "prediction", flipped(truth, 0.05, 2))
    assert judged(tmp_path, "a") == 3
    write(tmp_path / "labels.csv", "label", truth)
    text = (tmp_path / "ci.yaml").read_text()
    for other in (text.replace("sequential", "fixed"), text.replace("nce: 0.3", "nce: 0.31")):
        (tmp_path / "ci.yaml").write_text(other)
        assert judged(tmp_path, "a") == 2
        assert "this test was begun with method sequential" in capsys.readouterr().err
    (tmp_path / "ci.yaml").write_text(text)
    assert judged(tmp_path, "a") == 0


def test_leaving_a_test_costs_later_ones(tmp_path: Path) -> None:
    truth = begin(tmp_path, steps=4)
    write(tmp_path / "old.csv", "prediction", flipped(truth, 0.25, 1))
    revealed = []
    for seed in range(3):
        write(tmp_path / "new.csv", "prediction", flipped(truth, 0.2, seed + 2))
        assert judged(tmp_path, "new") == 3
        ((_, account),) = begun_accounts(load_ci_file(tmp_path / "ci.yaml"))
        revealed.append((account.steps[-1].in_force, account.revealed))
    # The one left may get its verdict in any of three later steps, of two kinds, or never.
    left = np.log(4 * 7)
    assert np.allclose(revealed, [(0, 0), (left, left), (2 * left, 2 * left)])
    # A step by the other method shares what is kept for histories in which a test waits.
    assert np.isclose(account.in_force("fixed"), 3 * left + 3 * np.log(4 / 3))


def test_models_that_are_swapped_while_labels_are_awaited(tmp_path: Path) -> None:
    """Models at the limit, each dropped for the next unless it passes on the labels there are."""
    delta, wrong, begun = 0.1, 0, []
    runs, tries = 12, 8
    for run in range(runs):
        folder = tmp_path / str(run)
        folder.mkdir()
        truth = begin(folder, reliability=1 - delta)
        rng = np.random.default_rng(run)
        right = rng.random(len(truth)) < 0.75
        old = [v if good else str(1 - int(v)) for v, good in zip(truth, right, strict=True)]
        write(folder / "old.csv", "prediction", old)
        statuses = []
        for attempt in range(tries):
            # 0.14 of the rows mended and 0.12 spoilt: n - o is 0.02 in expectation.
            drawn = rng.random(len(truth)) < np.where(right, 0.12 / 0.75, 0.14 / 0.25)
            new = [str(1 - int(v)) if flip else v for v, flip in zip(old, drawn, strict=True)]
            write(folder / f"{attempt}.csv", "prediction", new)
            statuses.append(judged(folder, str(attempt)))
        ((_, account),) = begun_accounts(load_ci_file(folder / "ci.yaml"))
        begun.append(account.used)
        assert set(statuses[2:]) == {3}
        wrong += 0 in statuses
    assert set(begun) == {2}
    assert wrong <= 3


def test_scores_give_away_at_which_look_a_test_ended(tmp_path: Path) -> None:
    truth = begin(tmp_path)
    write(tmp_path / "labels.csv", "label", truth)
    write(tmp_path / "old.csv", "prediction", flipped(truth, 0.25, 1))
    write(tmp_path / "a.csv", "prediction", flipped(truth, 0.05, 2))
    assert judged(tmp_path, "a", "--reveal", "scores") == 0
    ((_, account),) = begun_accounts(load_ci_file(tmp_path / "ci.yaml"))
    plan = make_sequential_plan(load_ci_file(tmp_path / "ci.yaml").guarantee)
    looks = np.ceil(len(truth) / plan.batch)
    # Two shares of the rows, and the number of these.
    assert np.isclose(account.revealed, 2 * np.log(len(truth) + 1) + np.log(looks))


def test_a_kill_before_the_line_tells_nothing_and_one_after_it_begins_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = begin(tmp_path)
    write(tmp_path / "old.csv", "prediction", flipped(truth, 0.25, 1))
    write(tmp_path / "a.csv", "prediction", flipped(truth, 0.2, 2))
    arguments = ["ci", "test", str(tmp_path / "ci.yaml")]
    arguments += ["--old", str(tmp_path / "old.csv"), "--new", str(tmp_path / "a.csv")]
    append = Ledger.append

    def killed(ledger: Ledger, kind: str, after: bool, **fields: object) -> Record:
        if after or kind != BEGUN:
            append(ledger, kind, **fields)
        if kind == BEGUN:
            raise _Killed
        return ledger.records[-1]

    for after, begun in ((False, 0), (True, 1)):
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "append", partialmethod(killed, after=after))
            with pytest.raises(_Killed):
                main(arguments)
        ((_, account),) = begun_accounts(load_ci_file(tmp_path / "ci.yaml"))
        assert (account.begun, account.used) == (begun, begun)
    assert judged(tmp_path, "a") == 3
    ((_, account),) = begun_accounts(load_ci_file(tmp_path / "ci.yaml"))
    assert (account.begun, account.used) == (1, 1)


class _Killed(BaseException):
    pass
