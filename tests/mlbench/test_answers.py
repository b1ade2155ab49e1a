"""Fronts, tests and rules against brute force and scipy, and what they say of the paper."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from runner.mlbench import intervals
from runner.mlbench.answer_tables import answer_tables
from runner.mlbench.answers import answer, sentences
from runner.mlbench.comparison import (
    adjust,
    compare_over_folds,
    compare_over_tasks,
    corrected_t,
    least_adjusted,
)
from runner.mlbench.fastest import observation2
from runner.mlbench.linearity import Contrast, contrasts, observation1, size_effect
from runner.mlbench.pareto import Point, pareto_front, task_front
from runner.mlbench.recommendation import recommend
from runner.mlbench.study import Result, Study, System, Task

POINTS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5)).map(lambda p: Point("", p[0] / 5, float(p[1]))),
    max_size=12,
)


@given(POINTS)
def test_the_front_is_what_nothing_dominates(points: list[Point]) -> None:
    front = pareto_front(points)
    kept = [p for p in points if not any(other.dominates(p) for other in points)]
    assert sorted(front, key=lambda p: (p.seconds, p.auc)) == list(front)
    assert sorted(map(repr, front)) == sorted(map(repr, kept))


def test_fronts_of_the_paper(published: Study) -> None:
    front = [point.name for point in task_front(published, "D-VP")]
    assert front == ["C-AP", "C-BPM", "C-LR", "C-SVM", "C-NN", "C-BDT"]
    assert [point.name for point in task_front(published, "D-EG")] == ["C-AP"]
    assert [point.name for point in task_front(published, "D-EG", "average")] == ["C-LR"]
    assert task_front(published, "D-PHY") == ()


def test_intervals_are_scipys() -> None:
    draw = np.random.default_rng(1)
    x, y = draw.normal(size=25), draw.normal(size=25)
    mean = intervals.mean(list(y), seed=0)
    other = stats.bootstrap((y,), np.mean, method="percentile", rng=np.random.default_rng(9))
    assert (mean.value, mean.cases) == (pytest.approx(y.mean(), abs=1e-12), 25)
    assert mean.low == pytest.approx(other.confidence_interval.low, abs=0.03)
    assert mean.high == pytest.approx(other.confidence_interval.high, abs=0.03)
    slope = intervals.slope(list(x), list(y), seed=0)
    paired = stats.bootstrap(
        (x, y),
        lambda a, b: stats.linregress(a, b).slope,
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method="percentile",
        rng=np.random.default_rng(9),
    )
    assert slope.value == pytest.approx(np.polyfit(x, y, 1)[0])
    assert slope.low == pytest.approx(paired.confidence_interval.low, abs=0.08)
    assert slope.high == pytest.approx(paired.confidence_interval.high, abs=0.08)
    assert intervals.slope(list(x), list(y), seed=0) == slope
    assert intervals.mean([1.0, 2.0], seed=0).low is None


def contrast(rows: int, difference: float) -> Contrast:
    better = "tie" if difference == 0 else "nonlinear" if difference > 0 else "linear"
    return Contrast(f"t{rows}", rows, ("A",), ("B",), 0.7, 0.7 + difference, better)


def test_size_effect_finds_what_is_there() -> None:
    found = [contrast(10**tens, 0.02 * (tens - 4)) for tens in range(2, 8)]
    size = size_effect(found)
    assert size is not None
    assert size.slope.value == pytest.approx(0.02)
    assert size.crossing == pytest.approx(10_000)
    assert size.correlation == pytest.approx(1)
    assert size.p_value == pytest.approx(2 / math.factorial(6))
    assert size_effect(found[:2]) is None
    assert size_effect([contrast(100, d) for d in (0.1, 0.2, 0.3)]) is None


def test_correlation_is_scipys(published: Study) -> None:
    found = contrasts(published)
    size = size_effect(found)
    assert size is not None
    rows, differences = [c.rows for c in found], [c.difference for c in found]
    expected = stats.spearmanr(rows, differences).statistic
    assert size.correlation == pytest.approx(expected)
    every = [
        abs(stats.spearmanr(rows, order).statistic) >= abs(expected) - 1e-9
        for order in itertools.permutations(differences)
    ]
    assert size.p_value == pytest.approx(np.mean(every))


def test_observation_1_on_the_paper(published: Study) -> None:
    first = observation1(contrasts(published))
    assert first is not None
    assert [(a.task, a.holds) for a in first.tasks if not a.holds] == [("D-KDD1", False)]
    assert (first.count(True), first.count(False), first.count(None)) == (5, 1, 0)
    assert first.p_value == pytest.approx(7 / 64)
    assert first.loss.value == pytest.approx(0.01 / 6)
    assert first.always_nonlinear.value == pytest.approx(0.05 / 6)
    assert first.always_linear.value == pytest.approx(0.07 / 6)


def test_observation_1_with_ties_and_other_sizes() -> None:
    found = [contrast(100, 0.1), contrast(200, 0.0), contrast(300, 0.3)]
    first = observation1(found, small_rows=250)
    assert first is not None
    assert [advice.holds for advice in first.tasks] == [False, None, True]
    assert [advice.loss for advice in first.tasks] == [0.1, 0, 0]
    assert first.p_value == pytest.approx(0.75)
    assert observation1([]) is None


def test_observation_2_on_the_paper(published: Study) -> None:
    second = observation2(published)
    assert second is not None
    assert second.named == {"linear": ("C-AP", 2), "nonlinear": ("C-BDT", 0)}
    assert second.fastest("linear") == {"C-LR": 4, "C-AP": 2}
    assert (second.holds("linear"), second.holds("nonlinear")) == (5, 2)
    (pick,) = [p for p in second.of_kind("nonlinear") if p.task == "D-SCH"]
    assert (pick.fastest, pick.best, pick.loss) == ("C-DF", "C-NN", 0.2)
    assert pick.random_loss == pytest.approx((0.88 * 4 - (0.69 + 0.68 + 0.82 + 0.88)) / 4)
    assert pick.slower == pytest.approx((11 / 24) / (12 / 81))
    total = observation2(published, time="total")
    assert total is not None
    assert total.named["linear"] == ("C-AP", 6)


def study(aucs: dict[str, list[float | None]], **more: object) -> Study:
    """Systems by name, an AUC for each task; ``folds`` and ``seconds`` by system and task."""
    count = len(next(iter(aucs.values())))
    folds, seconds = more.get("folds", {}), more.get("seconds", {})
    assert isinstance(folds, dict)
    assert isinstance(seconds, dict)
    return Study(
        "made up",
        tuple(Task(f"t{index}", rows=100 * 10**index) for index in range(count)),
        tuple(System(name, name, linear=name < "C") for name in aucs),
        {"all": tuple(aucs)},
        tuple(
            Result(
                f"t{index}",
                name,
                configurations=1,
                auc=auc,
                fold_aucs=tuple(folds.get((name, index), ())),
                total_seconds=seconds.get((name, index)),
            )
            for name, row in aucs.items()
            for index, auc in enumerate(row)
        ),
    )


def test_over_tasks_is_the_signed_rank_test() -> None:
    draw = np.random.default_rng(0)
    one, other = draw.uniform(size=9), draw.uniform(size=9)
    (found,) = compare_over_tasks(study({"A": list(one), "B": list(other)}))
    expected = stats.wilcoxon(one, other, method="exact").pvalue
    assert found.p_value == pytest.approx(expected)
    assert found.adjusted == pytest.approx(expected)
    assert found.least_p == 2 / 2**9
    assert found.difference.value == pytest.approx((one - other).mean(), abs=1e-12)
    assert (found.wins, found.losses) == ((one > other).sum(), (one < other).sum())


def test_over_tasks_with_ties_by_listing_all_signs() -> None:
    """Scores of two decimals: differences that are equal on paper have one rank."""
    one, other = [0.91, 0.72, 0.65, 0.8, 0.9], [0.89, 0.7, 0.66, 0.8, 0.85]
    (found,) = compare_over_tasks(study({"A": list(one), "B": list(other)}))
    ranks = [2.5, 2.5, 1, 4]
    sums = [sum(s * r for s, r in zip(signs, ranks, strict=True))
            for signs in itertools.product((-1, 1), repeat=4)]  # fmt: skip
    assert found.p_value == pytest.approx(np.mean([abs(s) >= 8 for s in sums]))
    assert (found.wins, found.ties, found.losses, found.least_p) == (3, 1, 1, 1 / 8)


def test_one_decided_task_decides_nothing() -> None:
    (found,) = compare_over_tasks(study({"A": [0.5, 0.6, 0.7], "B": [0.5, 0.6, 0.6]}))
    assert (found.wins, found.ties, found.losses) == (1, 2, 0)
    assert found.p_value == found.least_p == 1.0


def test_nothing_to_compare() -> None:
    (same,) = compare_over_tasks(study({"A": [0.5, 0.6], "B": [0.5, 0.6]}))
    assert (same.p_value, same.least_p) == (1, 1)
    assert compare_over_tasks(study({"A": [0.5, None], "B": [None, 0.5]})) == ()
    assert adjust([]) == ()


def test_over_folds_is_the_corrected_t_test() -> None:
    one, other = [0.8, 0.82, 0.79, 0.83, 0.81], [0.78, 0.81, 0.79, 0.8, 0.8]
    made = study({"A": [None], "B": [None]}, folds={("A", 0): one, ("B", 0): other})
    (found,) = compare_over_folds(made)
    plain = stats.ttest_rel(one, other)
    # The usual statistic has 1/k where the corrected one has 1/k + 1/(k - 1).
    t = plain.statistic * math.sqrt((1 / 5) / (1 / 5 + 1 / 4))
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(t), 4))
    assert found.p_value > plain.pvalue
    assert found.task == "t0"
    low, high = found.difference.low, found.difference.high
    assert low is not None
    assert high is not None
    assert (low + high) / 2 == pytest.approx(np.mean(np.subtract(one, other)))
    assert (low > 0) == (found.p_value < 0.05)
    assert corrected_t([0.1, 0.1])[1] == 0
    assert corrected_t([0.0, 0.0])[1] == 1


def test_adjustment_is_benjamini_and_yekutielis(published: Study) -> None:
    found = compare_over_tasks(published)
    count = len(found)
    assert count == 36
    factor = count * sum(1 / rank for rank in range(1, count + 1))
    ordered = sorted(found, key=lambda one: one.p_value)
    steps = [one.p_value * factor / rank for rank, one in enumerate(ordered, 1)]
    for index, one in enumerate(ordered):
        assert one.adjusted == pytest.approx(min(1, *steps[index:]))
    assert least_adjusted(found) > 0.05


def test_recommendations_by_trying_all(published: Study) -> None:
    found = recommend(published)
    assert {row.size for row in found} == {"small", "large"}
    for row in found:
        tasks = [
            t for t in published.tasks if t.rows and (t.rows < 10_000) == (row.size == "small")
        ]
        met = {}
        for system in published.systems:
            results = [published.result(task.name, system.name) for task in tasks]
            met[system.name] = sum(
                r.total_seconds is not None
                and r.total_seconds <= row.budget
                and (tolerance := published.tolerance(r)) is not None
                and tolerance <= row.tolerance
                for r in results
            )
        best = max(met.values())
        assert row.met == best
        assert set(row.systems) == ({s for s, n in met.items() if n == best} if best else set())
        assert row.tasks == (2 if row.size == "small" else 4)


def test_recommendations_without_leaderboards() -> None:
    seconds = {("A", 0): 1.0, ("D", 0): 50.0, ("A", 1): 3.0, ("D", 1): 900.0}
    made = study({"A": [0.8, 0.8], "D": [0.81, 0.801]}, seconds=seconds)
    found = {(row.budget, row.tolerance): row for row in recommend(made)}
    assert set(found) == {(b, t) for b in (1, 10, 100, 1000) for t in (0.001, 0.005, 0.02)}
    assert found[10, 0.005].systems == ("A",)
    assert (found[10, 0.005].met, found[10, 0.005].tasks) == (1, 2)
    assert found[1000, 0.001].systems == ("D",)
    assert found[1000, 0.02].systems == ("A", "D")
    assert found[1, 0.001].systems == ()
    assert recommend(study({"A": [0.8]})) == ()


def test_answers_in_words(published: Study) -> None:
    said = " ".join(sentences(answer(published)))
    assert (
        "holds on 5 of 6 tasks; it fails on D-KDD1 (391,088 rows, linear is better by 0.01)" in said
    )
    assert "C-BDT, which the paper names, is the fastest on 0" in said
    assert "0 of 36 paired comparisons differ" in said
    assert "none could have" in said
    assert answer(published) == answer(published)


def test_answers_of_little() -> None:
    empty = Study("empty", (Task("a"),), (), {}, ())
    assert sentences(answer(empty)) == []
    assert {len(table) for table in answer_tables(answer(empty)).values()} == {0}
    lone = study({"A": [0.8], "D": [0.9]}, seconds={("A", 0): 0.0, ("D", 0): 1.0})
    assert len(answer_tables(answer(lone))["linear_by_size"]) == 1
    assert "(too few tasks for an interval)" in " ".join(sentences(answer(lone)))
