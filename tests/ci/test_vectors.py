"""The paper's numbers, those that its authors' code prints, and their corrections.

Sources: the paper's sections 3 to 5 and its figure 2; where a print is truncated the number here is
the one above. SemEval's are for 7 commits with a probability of error of .002.
"""

from __future__ import annotations

import pytest

from runner.ci import Guarantee, Plan, Reuse, make_plan, parse_condition
from runner.ci.alternatives import alternatives
from runner.ci.difference import measurement

PATTERN_1 = r"d < 0.1 +/- 0.01 /\ n - o > 0.02 +/- 0.01"
PAPER = r"n - 1.1 * o > 0.01 +/- 0.01 /\ d < 0.1 +/- 0.01"
FIGURE_2 = {
    # delta, tolerance: one variable without and with full adaptivity, n - o likewise
    (1e-2, 0.1): (404, 1340, 1753, 5496),
    (1e-2, 0.05): (1615, 5358, 7012, 21984),
    (1e-2, 0.025): (6457, 21429, 28045, 87933),
    (1e-2, 0.01): (40355, 133930, 175282, 549581),
    (1e-3, 0.1): (519, 1455, 2214, 5957),
    (1e-3, 0.05): (2075, 5818, 8854, 23826),
    (1e-3, 0.025): (8299, 23271, 35414, 95302),
    (1e-3, 0.01): (51868, 145443, 221333, 595633),
    (1e-4, 0.1): (634, 1570, 2674, 6417),
    (1e-4, 0.05): (2536, 6279, 10696, 25668),
    (1e-4, 0.025): (10141, 25113, 42782, 102670),
    (1e-4, 0.01): (63381, 156956, 267385, 641684),
    (1e-5, 0.1): (749, 1685, 3135, 6878),
    (1e-5, 0.05): (2996, 6739, 12538, 27510),
    (1e-5, 0.025): (11983, 26955, 50150, 110038),
    (1e-5, 0.01): (74894, 168469, 313437, 687736),
}


def plan(
    condition: str,
    delta: float,
    reuse: Reuse,
    bound: str = "hoeffding",
    difference: float | None = None,
) -> Plan:
    parsed = parse_condition(condition)
    return make_plan(Guarantee(parsed, delta, "fp-free", reuse, difference), bound)


@pytest.mark.parametrize(("delta", "tolerance"), FIGURE_2)
@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("n > 0.9 +/- {}", (0, 1)),
        ("n - o > 0.02 +/- {}", (2, 3)),
        ("n - o > 0.2 +/- {}", (2, 3)),
        ("d < 0.2 +/- {}", (0, 1)),
    ],
)
def test_figure_2(delta: float, tolerance: float, condition: str, columns: tuple[int, int]) -> None:
    expected = FIGURE_2[delta, tolerance]
    text = condition.format(tolerance)
    for kind, column in zip(("none", "full"), columns, strict=True):
        assert plan(text, delta, Reuse(kind, 32)).labels == expected[column]
    assert plan(text, delta, Reuse("firstChange", 32)).labels == expected[columns[0]]


@pytest.mark.parametrize(
    ("condition", "delta", "reuse", "labels"),
    [
        ("n > 0.8 +/- 0.05", 1e-4, Reuse("full", 32), 6279),
        ("n > 0.8 +/- 0.01", 1e-4, Reuse("full", 32), 156956),
        ("n > 0.8 +/- 0.01", 1e-4, Reuse("none", 1), 46052),
        ("n > 0.8 +/- 0.01", 1e-4, Reuse("none", 32), 63381),
        ("n - o > 0.1 +/- 0.1", 1e-2, Reuse("full", 32), 5496),
        ("n > 0.8 +/- 0.05", 1e-4, Reuse("none", 32), 2536),
        ("n - o > 0.02 +/- 0.01", 1e-4, Reuse("full", 32), 641684),
        ("n - o > 0.02 +/- 0.02", 2e-3, Reuse("none", 7), 44269),
        ("n - o > 0.02 +/- 0.02", 2e-3, Reuse("full", 7), 58799),
    ],
)
def test_hoeffding(condition: str, delta: float, reuse: Reuse, labels: int) -> None:
    assert plan(condition, delta, reuse).labels == labels


def test_the_optimal_split_of_the_papers_formula() -> None:
    found = plan(PAPER, 1e-4, Reuse("none", 1))
    assert [requirement.rows for requirement in found.requirements] == [233656, 49518]
    assert (found.labels, found.deciding) == (233656, 0)
    # The authors' code halves the tolerance and asks for 256,439.
    assert 256_439 / found.labels == pytest.approx(1.0975, abs=1e-4)


@pytest.mark.parametrize(
    ("kind", "bound", "labels", "reused", "fresh"),
    [
        ("none", "bennett", 29048, 2905, 2189),
        ("full", "bennett", 67706, 6771, 2189),
        ("none", "auto", 34675, 4161, 3136),
        ("full", "auto", 80822, 9699, 3136),
    ],
)
def test_pattern_1(kind: str, bound: str, labels: int, reused: int, fresh: int) -> None:
    found = plan(PATTERN_1, 1e-4, Reuse(kind, 32), bound)
    assert (found.bound, found.labels) == ("bennett", labels)
    assert found.active is not None
    assert (found.active.reused, found.active.fresh) == (reused, fresh)
    assert found.unlabelled > 0


@pytest.mark.parametrize(
    ("kind", "tolerance", "labels"),
    [("none", 0.02, 4713), ("full", 0.02, 6260), ("full", 0.022, 5204)],
)
def test_pattern_2(kind: str, tolerance: float, labels: int) -> None:
    condition = f"n - o > 0.02 +/- {tolerance}"
    reuse = Reuse(kind, 7)
    assert plan(condition, 2e-3, reuse, "auto", difference=0.1).labels == labels
    assumed = plan(condition, 2e-3, reuse, "bennett")
    assert (assumed.labels, assumed.stated) == (labels, 0.1)
    # Without the assumption the adaptive query doesn't fit the 5,509 rows of the challenge's set.
    measured = measurement(assumed.guarantee)
    assert measured is not None
    assert dict(measured.labels)[0.1] > labels


def test_pattern_2_measured_first_pays_for_the_measurement() -> None:
    found = measurement(plan("n - o > 0.02 +/- 0.022", 2e-3, Reuse("full", 7)).guarantee)
    assert found is not None
    assert found.half_width == pytest.approx(0.044)
    assert dict(found.labels)[0.1] == 5511


@pytest.mark.parametrize(
    ("passes", "labels"), [(1, 2536), (2, 3096), (3, 3565), (5, 4323), (8, 5148), (32, 6279)]
)
def test_pass_budgets(passes: int, labels: int) -> None:
    reuse = Reuse("firstChange", 32, passes=passes)
    assert plan("n > 0.8 +/- 0.05", 1e-4, reuse).labels == labels
    fails = Reuse("firstChange", 32, first="fail", passes=passes)
    assert plan("n > 0.8 +/- 0.05", 1e-4, fails).labels == labels


def test_telling_unknown_apart_costs_a_third_outcome() -> None:
    reuse = Reuse("full", 32, outcomes=3)
    assert plan("n > 0.8 +/- 0.05", 1e-4, reuse).labels == 8735


def test_ten_thousand_steps() -> None:
    found = plan("n > 0.8 +/- 0.05", 1e-4, Reuse("full", 10_000))
    assert found.labels == 1_388_137


@pytest.mark.parametrize(("p", "gain"), [(0.25, 3.9), (0.1, 9.7), (0.05, 18.8), (0.02, 43.3)])
def test_gain_of_bennett_over_hoeffding(p: float, gain: float) -> None:
    reuse = Reuse("full", 32)
    by_hoeffding = plan("n - o > 0.02 +/- 0.01", 1e-4, reuse).labels
    by_bennett = plan("n - o > 0.02 +/- 0.01", 1e-4, reuse, "auto", difference=p).labels
    assert by_hoeffding / by_bennett == pytest.approx(gain, rel=0.03)


def test_the_trivial_strategy_is_among_the_alternatives() -> None:
    found = plan("n > 0.8 +/- 0.01", 1e-4, Reuse("full", 32))
    costs = {other.name: other.labels for other in alternatives(found)}
    assert costs["none"] == 63381
    assert costs["32 test sets, one a step"] == 32 * 63381
    assert costs["+/- 0.01 more"] == 39239
