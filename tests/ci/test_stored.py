"""A study's own results: its stored predictions judged, and its times compared."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from runner.ci.times import order_statistic, slowdown
from runner.cli import main
from runner.errors import CannotRunError
from runner.store import ATTEMPTS, PREDICTIONS, Store

ROWS = 2000
TERMS = """\
condition: {condition}
reliability: 0.95
mode: fp-free
adaptivity: full
steps: 8
positive: spam
testset: {{name: t, labels: labels.csv}}
"""


def ran(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["ci", *map(str, arguments)])
    return int(ended.value.code or 0)


def evaluation(key: str, **fields: Any) -> dict[str, Any]:
    started = datetime(2026, 1, 2, tzinfo=UTC)
    row = {
        "key": key,
        "run_id": "r",
        "stage": "test",
        "task": "mail",
        "outcome": "ok",
        "score": 0.9,
    }
    row |= {"configuration_id": 0, "repeat": 0, "attempt": 1, "started_at": started}
    return row | {"timing": "exclusive", "quiet": True, "machine": "m"} | fields


def add(store: Store, rows: list[dict[str, Any]], predictions: list[dict[str, Any]]) -> None:
    names = [name for name in ATTEMPTS.names if name in rows[0]]
    schema = pa.schema([ATTEMPTS.field(name) for name in names])
    stored = pa.Table.from_pylist(predictions, schema=PREDICTIONS) if predictions else None
    store.append(pa.Table.from_pylist(rows, schema=schema), stored)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    spam = rng.random(ROWS) < 0.5
    ids = rng.permutation(9000)[:ROWS]
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        labels = np.where(spam, "spam", "ham")
        csv.writer(file).writerows([["id", "label"], *zip(ids, labels, strict=True)])
    (tmp_path / "labels.csv").chmod(0o600)
    rows, predictions = [], []
    for system, number, gap in (("LR", 0, 1.0), ("BDT", 3, 3.0), ("BDT", 7, 1.1)):
        key = f"{system}{number}"
        confidence = 1 / (1 + np.exp(-(spam * gap - gap / 2 + rng.normal(0, 1, ROWS))))
        both = np.column_stack([confidence, 1 - confidence])
        rows.append(evaluation(key, system=system, configuration_id=number, fit_seconds=1.0))
        found = {"key": key, "row_ids": ids, "classes": ["spam", "ham"]}
        found |= {"confidences": both.ravel(), "labels": np.where(confidence > 0.5, "spam", "ham")}
        predictions.append(found)
    add(Store.create(tmp_path / "results"), rows, predictions)
    return tmp_path


@pytest.mark.parametrize(
    ("condition", "new", "status"),
    [
        ("n - o > 0.1 +/- 0.1", "BDT:3", 0),
        ("n - o > 0.1 +/- 0.1", "BDT:7", 1),
        ("auc(n) - auc(o) > 0.05 +/- 0.1", "BDT:3", 0),
        ("f1(n) > 0.8 +/- 0.06", "BDT:3", 0),
        ("auc(n) > 0.9 +/- 0.05", "BDT:7", 1),
    ],
)
def test_models_of_a_study(study: Path, condition: str, new: str, status: int) -> None:
    (study / "ci.yaml").write_text(TERMS.format(condition=condition))
    arguments = ["--results", study / "results", "--old", "LR", "--new", new]
    assert ran("test", study / "ci.yaml", *arguments) == status


def test_several_classes_of_a_study(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    names = np.array(["dog", "cat", "ant"])
    truth = rng.integers(0, 3, ROWS)
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "label"], *enumerate(names[truth])])
    (tmp_path / "labels.csv").chmod(0o600)
    confidence = rng.dirichlet(np.ones(3), ROWS) + np.eye(3)[truth]
    found = {"key": "a", "row_ids": np.arange(ROWS), "classes": list(names)}
    found |= {"confidences": confidence.ravel(), "labels": names[confidence.argmax(axis=1)]}
    rows = [evaluation("a", system="LR", configuration_id=0, fit_seconds=1.0)]
    add(Store.create(tmp_path / "results"), rows, [found])
    text = TERMS.format(condition="auc(n) > 0.8 +/- 0.1").replace("positive: spam", "")
    (tmp_path / "ci.yaml").write_text(text + "\nclasses: [ant, cat, dog]\n")
    arguments = ["--results", tmp_path / "results", "--new", "LR"]
    assert ran("test", tmp_path / "ci.yaml", *arguments) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--new", "BDT", "--old", "LR"], "name one, such as BDT:3, BDT:7"),
        (["--new", "BDT:4", "--old", "LR"], "no configuration 4 of BDT"),
        (["--new", "BTD:3", "--old", "LR"], "did you mean 'BDT'?"),
        (["--new", "BDT:x", "--old", "LR"], "SYSTEM or SYSTEM:NUMBER"),
        (["--new", "BDT:3", "--old", "LR", "--task", "post"], "no predictions on task 'post'"),
        (["--old", "LR"], "needs"),
    ],
)
def test_what_a_study_lacks(
    study: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (study / "ci.yaml").write_text(TERMS.format(condition="n - o > 0.1 +/- 0.1"))
    assert ran("test", study / "ci.yaml", "--results", study / "results", *options) == 2
    assert said in capsys.readouterr().err
    assert not (study / "ci-ledger").exists()


def timed(folder: Path, ratio: float, pairs: int, **fields: Any) -> Path:
    rng = np.random.default_rng(1)
    rows = []
    for repeat in range(pairs):
        for system, factor in (("LR", 1.0), ("BDT", ratio)):
            seconds = factor * rng.lognormal(0, 0.1)
            own = {"system": system, "repeat": repeat, "stage": "cv", "fit_seconds": seconds}
            rows.append(evaluation(f"{system}-{repeat}", **(own | fields)))
    add(Store.create(folder / "times"), rows, [])
    return folder / "times"


@pytest.mark.parametrize(("ratio", "pairs", "status"), [(1.2, 20, 0), (2.0, 20, 1), (1.5, 20, 3)])
def test_a_gate_on_training_time(tmp_path: Path, ratio: float, pairs: int, status: int) -> None:
    results = timed(tmp_path, ratio, pairs)
    assert ran("time", "--results", results, "--old", "LR", "--new", "BDT", "--most", 1.5) == status


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"timing": "packed"}, "aren't for comparing systems"),
        ({"quiet": False}, "wasn't quiet"),
    ],
)
def test_times_that_dont_compare(
    tmp_path: Path, fields: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    results = timed(tmp_path, 1.0, 8, **fields)
    arguments = ["time", "--results", results, "--old", "LR", "--new", "BDT", "--most", 2]
    assert ran(*arguments) == 3
    assert said in capsys.readouterr().err
    assert ran(*arguments, "--packed") == (0 if "timing" in fields else 3)


@pytest.mark.parametrize("option", ["--most", "--reliability"])
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_no_limit_is_without_a_number(tmp_path: Path, option: str, value: str) -> None:
    results = timed(tmp_path, 1.0, 20)
    arguments = ["time", "--results", results, "--old", "LR", "--new", "BDT", "--most", 2]
    assert ran(*arguments) == 0
    assert ran(*arguments, option, value) == 2


def test_limits_of_the_median_are_binomial() -> None:
    for n in (5, 6, 20, 101):
        for delta in (0.05, 0.01):
            found = order_statistic(n, delta)
            if found is None:
                assert 0.5**n > delta
                continue
            assert stats.binom.cdf(found, n, 0.5) <= delta < stats.binom.cdf(found + 1, n, 0.5)
    with pytest.raises(CannotRunError, match="it takes 5"):
        slowdown([1.0] * 4, [1.0] * 4, 0.05)


def test_limits_of_the_median_hold() -> None:
    rng = np.random.default_rng(2)
    above = sum(slowdown(rng.lognormal(0, 1, 15), np.ones(15), 0.05).low > 1 for _ in range(1000))
    assert above / 1000 <= 0.05
