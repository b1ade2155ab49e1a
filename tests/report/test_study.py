"""A run as mlbench's study, against its summary and numbers worked out by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from runner.errors import InputError
from runner.mlbench.leaderboard import leaderboard
from runner.mlbench.setting import Setting
from runner.mlbench.study import Study, System, Task, Winning
from runner.mlbench.tables import tables
from runner.report import enter_score, summary
from runner.report.study import load_study
from runner.store import Store, Wanted

from .conftest import FOLDS, evaluation, plan, synthetic_rows

Record = Callable[..., Store]


def agrees(study: Study, store: Store) -> None:
    rows = summary(store).to_pylist()
    assert len(rows) == len(study.results)
    for row in rows:
        found = study.result(row["task"], row["system"])
        assert found.configuration == row["configuration"]
        assert found.cv_auc == row["cv_auc"]
        assert found.auc == row["test_auc"]
        assert near(found.total_seconds, row["total_training_seconds"])
        assert near(found.average_seconds, row["average_training_seconds"])
        assert len(found.fold_aucs) == (0 if found.cv_auc is None else row["folds"])


def near(one: float | None, other: float | None) -> bool:
    """Both missing, or equal but for the order in which they were summed."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-12)


def test_synthetic_rows(record: Record) -> None:
    rows = synthetic_rows()
    tests = [
        evaluation(task, system, number, None) | {"score": 0.7 + number / 100, "fit_seconds": 3.0}
        for task, system, count in (("wdbc", "C-BDT", 9), ("kc2", "C-LR", 4))
        for number in range(count)
    ]
    store = record([*rows, *tests], plan(), tests=tuple(row["key"] for row in tests))
    study = load_study(store)
    agrees(study, store)
    assert any(result.auc is not None for result in study.results)
    assert [task.name for task in study.tasks] == ["wdbc", "kc2"]
    assert study.platforms == {"Azure": ("C-BDT", "C-LR")}
    assert [system.linear for system in study.systems] == [False, True]


def repeated(repeats: int, lacking: bool) -> tuple[list[dict[str, Any]], Wanted]:
    draw = random.Random(repeats)
    rows = [
        evaluation("wdbc", "C-LR", number, fold)
        | {
            "key": f"{repeat}/{number}/{fold}",
            "repeat": repeat,
            "score": draw.random(),
            "fit_seconds": draw.expovariate(1),
        }
        for repeat in range(repeats)
        for number in range(6)
        for fold in range(2)
    ]
    keys = tuple(row["key"] for row in rows)
    kept = [row for row in rows if not lacking or draw.random() < 0.9]
    return kept, Wanted("wdbc", "C-LR", 2, keys, repeats, tuple(range(6)))


@pytest.mark.parametrize("lacking", [False, True])
@pytest.mark.parametrize("repeats", [1, 2, 5])
def test_repeats(record: Record, repeats: int, lacking: bool) -> None:
    rows, wanted = repeated(repeats, lacking)
    store = record(rows, (wanted,))
    agrees(load_study(store), store)


def test_equal_means_go_to_the_lower_number(record: Record) -> None:
    # .1 + .2 + .3 isn't .3 + .2 + .1 in binary: sums of the database must not decide.
    folds = [[0.3, 0.2, 0.1], [0.1, 0.2, 0.3], [0.2, 0.3, 0.1]]
    rows = [
        evaluation("wdbc", "C-LR", number, fold) | {"score": score, "fit_seconds": 1.0}
        for number, scores in enumerate(folds)
        for fold, score in enumerate(scores)
    ]
    store = record(rows, (Wanted("wdbc", "C-LR", 3, tuple(row["key"] for row in rows)),))
    agrees(load_study(store), store)
    assert load_study(store).result("wdbc", "C-LR").configuration == '{"leaves": 0}'


def test_numbers_are_this_runs(record: Record) -> None:
    """A row made for another grid of a user's class has that grid's number."""
    rows = [
        evaluation("wdbc", "mine", number, fold) | {"score": 0.5, "fit_seconds": 1.0}
        for number in (7, 3)
        for fold in range(2)
    ]
    wanted = Wanted("wdbc", "mine", 2, tuple(row["key"] for row in rows), 1, (0, 1))
    setting = Setting(systems=(System("mine", "mine", linear=True),)).to_json()
    store = record(rows, (wanted,), setting=setting)
    study = load_study(store)
    agrees(study, store)
    assert study.result("wdbc", "mine").configuration == '{"leaves": 7}'
    assert study.system("mine").linear is True
    record([], (wanted,), run_id="r2", hours=1)
    assert load_study(store).system("mine").linear is None
    assert study.platforms == {"Others": ("mine",)}


@pytest.mark.parametrize("fitted", [False, True])
def test_times_of_one_kind(record: Record, fitted: bool) -> None:
    def other(row: dict[str, Any]) -> dict[str, Any]:
        return row | ({"enforced": '{"size": "fitted"}'} if fitted else {"timing": "exclusive"})

    rows = [
        evaluation("wdbc", system, number, fold) | {"score": 0.5, "fit_seconds": 2.0}
        for system in ("C-LR", "C-BDT")
        for number in range(2)
        for fold in range(FOLDS)
    ]
    rows[0] = other(rows[0])
    groups = tuple(
        Wanted("wdbc", s, FOLDS, tuple(row["key"] for row in rows if row["system"] == s))
        for s in ("C-LR", "C-BDT")
    )
    store = record(rows, groups)
    study = load_study(store)
    agrees(study, store)
    assert study.result("wdbc", "C-LR").total_seconds is None
    assert "another kind" in study.result("wdbc", "C-LR").why


def test_failures_are_said(record: Record) -> None:
    bad = {"outcome": "timeout", "score": None, "fit_seconds": None}
    rows = [
        evaluation("wdbc", "C-LR", 0, fold) | {"score": 0.6, "fit_seconds": 1.0}
        for fold in range(2)
    ]
    rows += [evaluation("wdbc", "C-BDT", 0, fold) | bad for fold in range(2)]
    keys = {s: tuple(row["key"] for row in rows if row["system"] == s) for s in ("C-LR", "C-BDT")}
    groups = [Wanted("wdbc", s, 2, k) for s, k in keys.items()]
    groups.append(Wanted("kc2", "C-LR", 2, ("x", "y")))
    store = record(rows, tuple(groups), ended=False)
    why = {(gap.task, gap.system): gap.why for gap in load_study(store).missing()}
    assert why["wdbc", "C-LR"] == "the refit is missing"
    assert why["wdbc", "C-BDT"] == "2 of 2 evaluations aren't ok (timeout)"
    assert why["kc2", "C-LR"] == "no evaluation has a row"
    assert why["kc2", "C-BDT"] == "no result"


def test_competitions(record: Record) -> None:
    rows = [evaluation("wdbc", s, 0, fold) | {"score": 0.8, "fit_seconds": 1.0}
            for s in ("C-LR", "A-LR") for fold in range(2)]  # fmt: skip
    tests = [evaluation("wdbc", "C-LR", 0, None) | {"score": 0.85},
             evaluation("wdbc", "A-LR", 0, None) | {"score": 0.75}]  # fmt: skip
    groups = tuple(
        Wanted("wdbc", s, 2, tuple(row["key"] for row in rows if row["system"] == s))
        for s in ("C-LR", "A-LR")
    )
    board = leaderboard([0.9, 0.85, 0.8, 0.7], teams=8, winning=0.8)
    task = Task("wdbc", rows=569, winning=Winning(model="LR"), leaderboard=board)
    keys = tuple(row["key"] for row in tests)
    rows += tests
    store = record(rows, groups, tests=keys, setting=Setting((task,)).to_json())
    study = load_study(store)
    assert [result.rank for result in study.results] == [2, 4]
    assert study.task("wdbc").rows == 569
    assert study.task("wdbc").winning == Winning(0.8, 3, "LR")
    found = tables(study)
    assert found["table9"].to_pylist() == [
        {"dataset": "wdbc", "teams": 8, "azure": 25.0, "amazon": 50.0, "winning": 37.5}
    ]
    assert found["table10"].to_pylist() == found["table9"].to_pylist()
    assert found["table11"].to_pylist() == [
        {"dataset": "wdbc", "winning_auc": 0.8, "top10_percent_auc": None}
    ]
    (gap,) = found["table12"].to_pylist()
    assert gap["quality_gap"] == -0.05
    assert gap["ranking_gap_percent"] == -12.5
    other = Setting(platforms={"mine": ("A-LR", "C-NN")}).to_json()
    record([], groups, run_id="r2", hours=1, setting=other)
    assert load_study(store).platforms == {"mine": ("A-LR",), "Others": ("C-LR",)}


def test_remarks_on_times(record: Record) -> None:
    rows = [
        evaluation("wdbc", "C-LR", 0, fold)
        | {"score": 0.8, "fit_seconds": 1.0, "machine": f"m{fold}"}
        for fold in range(2)
    ]
    wanted = (Wanted("wdbc", "C-LR", 2, tuple(row["key"] for row in rows)),)
    said = load_study(record(rows, wanted)).remarks
    assert len(said) == 2
    assert "packed" in said[0]
    assert "2 kinds of machine" in said[1]


def test_no_run(record: Record) -> None:
    with pytest.raises(InputError, match="no run is recorded"):
        load_study(record([], ()))


def test_latest_run(record: Record) -> None:
    rows = synthetic_rows()
    record(rows, plan())
    store = record([], plan()[:1], run_id="r2", hours=1)
    assert len(load_study(store).results) == 1
    assert len(load_study(store, "r1").results) == 4


def test_a_competitions_own_score_counts(record: Record) -> None:
    rows = [
        evaluation("wdbc", "C-LR", number, fold) | {"score": 0.8 - number / 10, "fit_seconds": 1.0}
        for number in range(2)
        for fold in range(2)
    ]
    test = evaluation("wdbc", "C-LR", 0, None) | {"score": 0.85}
    wanted = (Wanted("wdbc", "C-LR", 2, tuple(row["key"] for row in rows)),)
    store = record([*rows, test], wanted, tests=(test["key"],))
    assert not load_study(store).result("wdbc", "C-LR").external
    enter_score(store, "wdbc", "C-LR", 0.6, configuration_id=1)
    assert load_study(store).result("wdbc", "C-LR").auc == 0.85
    enter_score(store, "wdbc", "C-LR", 0.7)
    found = load_study(store).result("wdbc", "C-LR")
    assert (found.auc, found.external, found.cv_auc) == (0.7, True, 0.8)
    assert found.total_seconds == 4
