"""A run's plan as text, and what earlier versions wrote."""

from __future__ import annotations

import json

from runner.store import Group, Wanted, read_plan
from runner.store.plan import write_plan


def test_a_plan_comes_back_without_its_keys() -> None:
    planned = (
        Wanted("wdbc", "C-LR", 2, ("a", "b", "c", "d"), 1, (3, 7), refits=2),
        Wanted("kc2", "mine", 5, ("e",) * 10, 2),
    )
    text = write_plan(planned)
    assert read_plan(text) == (
        Group("wdbc", "C-LR", 2, 1, (3, 7), 2, keys=4),
        Group("kc2", "mine", 5, 2, (), 1, keys=10),
    )
    assert json.loads(text)[0] == {
        "task": "wdbc",
        "system": "C-LR",
        "folds": 2,
        "repeats": 1,
        "configuration_ids": [3, 7],
        "refits": 2,
        "keys": 4,
    }


def test_plans_of_earlier_versions_are_read() -> None:
    text = '[{"folds": 2, "keys": 4, "repeats": 1, "system": "C-LR", "task": "wdbc"}]'
    assert read_plan(text) == (Group("wdbc", "C-LR", 2, 1, (), 1, keys=4),)
    assert read_plan(None) == ()
