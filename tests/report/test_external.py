"""Scores that a competition gave back: kept apart, and replaced by entering them again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runner.errors import InputError
from runner.report import enter_score, summary
from runner.store import Store, Wanted

from .conftest import evaluation

Record = Callable[..., Store]


@pytest.fixture
def store(record: Record) -> Store:
    """Configuration 1 of two is selected."""
    rows = [
        evaluation("wdbc", "C-BDT", configuration, fold) | {"score": 0.5 + configuration / 10}
        for configuration in (0, 1)
        for fold in range(5)
    ]
    test = evaluation("wdbc", "C-BDT", 1, None) | {"score": 0.7}
    wanted = Wanted("wdbc", "C-BDT", 5, tuple(row["key"] for row in rows))
    return record([*rows, test], (wanted,), tests=(test["key"],))


def external(store: Store) -> list[tuple[int, float]]:
    rows = store.query(
        "select configuration_id, score from evaluations where stage = 'external' order by all"
    )
    return [(row["configuration_id"], row["score"]) for row in rows.to_pylist()]


def test_the_selected_configuration_gets_the_score(store: Store) -> None:
    before = summary(store).to_pylist()
    assert before[0]["external_auc"] is None
    entered = enter_score(store, "wdbc", "C-BDT", 0.81)
    assert (entered.configuration_id, entered.replaced) == (1, None)
    assert summary(store).to_pylist() == [{**before[0], "external_auc": 0.81}]
    assert store.check() == []


def test_a_score_entered_again_replaces_the_first(store: Store) -> None:
    enter_score(store, "wdbc", "C-BDT", 0.81)
    enter_score(store, "wdbc", "C-BDT", 0.4, configuration_id=0)
    assert enter_score(store, "wdbc", "C-BDT", 0.8).replaced == 0.81
    assert external(store) == [(0, 0.4), (1, 0.8)]
    attempts = store.query("select attempt from attempts where stage = 'external' order by 1")
    assert attempts["attempt"].to_pylist() == [1, 1, 2]
    assert summary(store).to_pylist()[0]["external_auc"] == 0.8


def test_it_is_no_evaluation_of_a_run(store: Store) -> None:
    keys = store.query("select key from evaluations")["key"].to_pylist()
    served = store.served(keys, seconds=1e9, memory_mib=1e9)
    before = store.query("from evaluations order by key").to_pylist()
    enter_score(store, "wdbc", "C-BDT", 0.81)
    assert store.served(keys, seconds=1e9, memory_mib=1e9) == served
    others = store.query("from evaluations where stage <> 'external' order by key").to_pylist()
    assert others == before
    (row,) = store.query("from evaluations where stage = 'external'").to_pylist()
    assert row["fit_seconds"] is row["timing"] is row["fold"] is None
    (run,) = store.query("from runs where run_id = $run", {"run": row["run_id"]}).to_pylist()
    assert run["planned_keys"] == []


def test_a_store_merged_later_brings_the_newer_score(store: Store, tmp_path: object) -> None:
    copy = Store.create(f"{tmp_path}/copy")
    copy.merge(store)
    enter_score(store, "wdbc", "C-BDT", 0.81)
    enter_score(copy, "wdbc", "C-BDT", 0.82)
    store.merge(copy)
    assert external(store) == [(1, 0.82)]


@pytest.mark.parametrize(
    ("task", "system", "score", "configuration_id", "words"),
    [
        ("wdcb", "C-BDT", 0.8, None, "'wdbc'"),
        ("wdbc", "C-BTD", 0.8, None, "'C-BDT'"),
        ("wdbc", "C-BDT", 80.0, None, "from 0 to 1"),
        ("wdbc", "C-BDT", float("nan"), None, "from 0 to 1"),
        ("wdbc", "C-BDT", 0.8, 7, "numbered from 0 to 1"),
    ],
)
def test_mistakes(
    store: Store, task: str, system: str, score: float, configuration_id: int | None, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        enter_score(store, task, system, score, configuration_id=configuration_id)
    assert external(store) == []


def test_without_a_selection_the_configuration_must_be_said(record: Record) -> None:
    rows = [
        evaluation("wdbc", "C-BDT", 0, fold) | {"outcome": "timeout" if fold else "ok"}
        for fold in range(5)
    ]
    wanted = Wanted("wdbc", "C-BDT", 5, tuple(row["key"] for row in rows))
    store = record(rows, (wanted,))
    with pytest.raises(InputError, match="--config"):
        enter_score(store, "wdbc", "C-BDT", 0.8)
    assert enter_score(store, "wdbc", "C-BDT", 0.8, configuration_id=0).score == 0.8


def test_what_nothing_is_ok_of_was_not_submitted(record: Record) -> None:
    rows = [
        evaluation("wdbc", "C-BDT", 0, fold) | {"outcome": "crash", "score": None}
        for fold in range(5)
    ]
    store = record(rows, (Wanted("wdbc", "C-BDT", 5, tuple(row["key"] for row in rows)),))
    with pytest.raises(InputError, match="configuration 0, is ok"):
        enter_score(store, "wdbc", "C-BDT", 0.8, configuration_id=0)
    assert external(store) == []


def test_a_score_beside_a_computed_one_is_told(store: Store) -> None:
    assert enter_score(store, "wdbc", "C-BDT", 0.81).labelled
