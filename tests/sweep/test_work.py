"""One job of a sweep, called directly: what it reports, and when a short fit is timed again."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest

from runner.config import load_study, load_tasks
from runner.data import arrays
from runner.models import OutsideClass, family
from runner.sweep import work
from runner.sweep.work import Fit
from runner.timing import SHORT_SECONDS, retime

TREES = {"leaves": 8, "min_leaf": 1, "learning_rate": 0.1}
REGRESSION = {"l1": 0.0, "l2": 1.0, "memory": 20}


class Reported:
    """A report that keeps what it is given."""

    def __init__(self) -> None:
        self.checkpoints: list[int] = []
        self.records: list[dict[str, Any]] = []
        self.spared: list[float] = []

    def spare(self, seconds: float) -> None:
        self.spared.append(seconds)

    def checkpoint(self, index: int) -> None:
        self.checkpoints.append(index)

    def record(
        self,
        index: int,
        fields: Mapping[str, Any],
        predictions: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        assert self.checkpoints == list(range(len(self.records) + 1))
        assert index == len(self.records)
        self.records.append(dict(fields))


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, np.ndarray]:
    file = tmp_path_factory.mktemp("study") / "study.yaml"
    file.write_text(
        "kind: sweep\nname: s\ntasks: [{sklearn: breast_cancer}]\nsystems: [C-LR]\nfolds: 3\n"
    )
    (task,), (split,) = load_tasks(load_study(Path(file)))
    return arrays(task, split)


def fits(system: str) -> tuple[Mapping[str, Any], ...]:
    if system == "C-BDT":
        return tuple(TREES | {"trees": trees} for trees in (3, 20, 40))
    return tuple(REGRESSION | {"tolerance": tolerance} for tolerance in (1e-2, 1e-4, 1e-6))


def reported(
    task: Mapping[str, np.ndarray], system: str, within: float | None
) -> list[dict[str, Any]]:
    report = Reported()
    argument = Fit(
        family(system), fits(system), 1, 0, 1, ("no", "yes"), False, retime_within=within
    )
    work.fit(task, argument, report)
    return report.records


@pytest.mark.parametrize("system", ["C-BDT", "C-LR"])
def test_timing_again_changes_no_score(task: Mapping[str, np.ndarray], system: str) -> None:
    once, again = reported(task, system, None), reported(task, system, 60.0)
    assert [record["score"] for record in once] == [record["score"] for record in again]
    assert [record["timed_fits"] for record in once] == [1, 1, 1]
    assert all(record["fit_seconds_min"] == record["fit_seconds"] for record in once)
    for record in again:
        assert record["fit_seconds_min"] <= record["fit_seconds"]
        assert record["timed_fits"] == 1 or record["fit_seconds_min"] < SHORT_SECONDS


def test_what_smaller_and_larger_forests_took_is_spared(task: Mapping[str, np.ndarray]) -> None:
    forest = family("C-DF")
    chosen = {"trees": [1, 8], "depth": [1, 16], "splits": [128], "min_leaf": [1]}
    (group,) = forest.fits(forest.configurations(chosen))
    configurations = tuple(values for _, values in group)
    report = Reported()
    argument = Fit(forest, configurations, 1, 0, 1, ("no", "yes"), False)
    work.warm_up(argument)
    work.fit(task, argument, report)
    before, *rest = report.spared
    assert before == pytest.approx(0, abs=0.1)
    # Between the records: what the next one doesn't contain yet, then at its end.
    assert len(rest) == 2 * (len(configurations) - 1)
    assert [record["score"] > 0.8 for record in report.records] == [True] * 4
    own = [record["fit_seconds"] for record in report.records]
    # One tree to depth 16 is no part of eight trees of depth 1.
    assert rest[2] == pytest.approx(own[1] - own[0], abs=1e-3)


PAUSING = """\
from runner.models import Parameter
from runner.models.base import BinaryPathClassifier, parameters

LEFT = []

class Pausing(BinaryPathClassifier):
    shared = ("end",)
    parameters = parameters(Parameter("end", (1, 2, 3), 1, "whole", low=1))

    def __init__(self, end=1):
        self.end = end

    def _prepare(self, X, positive):
        return None

    def _train(self, rows, stops):
        try:
            for stop in stops:
                self.reached_ = stop["end"]
                yield None
        finally:
            LEFT.append(self.reached_)

    def _margin(self, X):
        if self.reached_ == FAILING:
            raise RuntimeError("enough")
        return X[:, 0]
"""


@pytest.mark.parametrize(("failing", "left"), [(0, 3), (2, 2)])
def test_a_path_is_left_by_the_end_of_its_fit(
    task: Mapping[str, np.ndarray],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failing: int,
    left: int,
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"pausing_{failing}"
    (tmp_path / f"{name}.py").write_text(f"FAILING = {failing}\n{PAUSING}")
    one = OutsideClass.load(f"{name}:Pausing").family(name="own", grid={"end": [1, 2, 3]})
    (group,) = one.fits(one.configurations())
    argument = Fit(one, tuple(v for _, v in group), 1, 0, 1, ("no", "yes"), False)
    with pytest.raises(RuntimeError) if failing else nullcontext() as caught:
        work.fit(task, argument, Reported())
    # With `caught` the failed call's frame lives on, and all that it holds.
    assert (sys.modules[name].LEFT, bool(caught)) == ([left], bool(failing))


def test_a_fit_is_timed_until_its_times_are_long_enough_together() -> None:
    times = [0.03]
    given = iter([0.05, 0.02, 0.08, 0.04, 0.01])
    retime(lambda: next(given), times, perf_counter() + 60.0)
    assert times == [0.03, 0.05, 0.02, 0.08, 0.04]
    assert sum(times) > SHORT_SECONDS >= sum(times[:-1])
    assert statistics.median(times) == 0.04


@pytest.mark.parametrize("first", [0.21, 30.0])
def test_a_long_fit_is_timed_once(first: float) -> None:
    times = [first]
    retime(lambda: pytest.fail("fitted again"), times, perf_counter() + 60.0)
    assert times == [first]


def test_no_fit_begins_that_would_end_too_late() -> None:
    times = [0.1]
    retime(lambda: pytest.fail("fitted again"), times, perf_counter() + 0.09)
    assert times == [0.1]
