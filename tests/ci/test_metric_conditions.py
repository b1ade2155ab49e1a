"""Conditions on other metrics, from the text over the plan to the verdict."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn import metrics as oracle

from runner.ci import Guarantee, Plan, Reuse, Rows, Truth, judge, make_plan, parse_condition
from runner.ci.metrics import Facts
from runner.errors import CannotRunError, InputError

T, U, F = Truth.TRUE, Truth.UNKNOWN, Truth.FALSE
SPAM = Facts(positive="spam")


def plan(condition: str, facts: Facts = SPAM, steps: int = 1, delta: float = 0.05) -> Plan:
    guarantee = Guarantee(
        parse_condition(condition), delta, "fp-free", Reuse("none", steps), facts=facts
    )
    return make_plan(guarantee)


def table(tp: int, fp: int, fn: int, tn: int) -> Rows:
    labels = np.repeat(["spam", "ham", "spam", "ham"], (tp, fp, fn, tn))
    said = np.repeat(["spam", "spam", "ham", "ham"], (tp, fp, fn, tn))
    return Rows(said, said, labels)


@pytest.mark.parametrize(
    ("condition", "truth"),
    [
        # F1 is 4000 / 4500, precision 2000 / 2200, recall 2000 / 2300.
        ("f1(n) > 0.8 +/- 0.05", T),
        ("f1(n) > 0.86 +/- 0.05", U),
        ("f1(n) > 0.95 +/- 0.05", F),
        ("precision(n) > 0.85 +/- 0.05", T),
        ("recall(n) > 0.85 +/- 0.05", U),
        ("recall(n) < 0.95 +/- 0.05", T),
        ("2 * recall(n) < 1.9 +/- 0.1", T),
        ("precision(n) > 0.85 +/- 0.05 /\\ recall(n) > 0.95 +/- 0.05", F),
        ("f1(n) - f1(o) > -0.3 +/- 0.25", T),
        ("recall(n) / recall(o) > 0.8 +/- 0.15", T),
        ("n - recall(n) > 0 +/- 0.15", U),
    ],
)
def test_verdicts_on_counts(condition: str, truth: Truth) -> None:
    assert judge(plan(condition), table(2000, 200, 300, 4000)).truth is truth


def test_a_class_with_too_few_rows_gets_no_verdict_and_one_never_predicted_is_unknown() -> None:
    wanted = plan("f1(n) > 0.8 +/- 0.05")
    few = wanted.positives - 1
    with pytest.raises(CannotRunError, match=rf"{few} rows of the class 'spam' .* needs"):
        judge(wanted, table(few, 0, 0, 9000))
    numbered = Rows(np.ones(few), None, np.ones(few), positive=1)
    with pytest.raises(CannotRunError, match=rf"{few} rows of the class 'spam'"):
        judge(wanted, numbered)
    assert judge(wanted, table(few + 1, 0, 0, 0)).truth is T
    assert judge(plan("precision(n) > 0.8 +/- 0.05"), table(3, 0, 900, 900)).truth is U


def test_f1_plans_keep_their_promise_at_the_limit() -> None:
    """By the binomial tail itself, at a model that is exactly at the limit."""
    from scipy.stats import binom

    for limit, tolerance in ((0.8, 0.05), (0.3, 0.1), (0.95, 0.02)):
        wanted = plan(f"f1(n) > {limit} +/- {tolerance}")
        share = limit / (2 - limit)
        needed = (limit + tolerance) / (2 - limit - tolerance)
        for rows in (wanted.positives, 2 * wanted.positives):
            least = math.floor(rows * needed + 1e-9) + 1
            assert binom.sf(least - 1, rows, share) <= 0.05


def scored(rng: np.random.Generator, m: int, q: int, gap: float, noise: float) -> Rows:
    labels = np.repeat(["spam", "ham"], (m, q))
    base = np.concatenate([rng.normal(gap, 1, m), rng.normal(0, 1, q)])
    new, old = base + rng.normal(0, noise, m + q), base + rng.normal(0, noise, m + q)
    return Rows(labels, labels, labels, None, new, old)


def test_auc_alone_and_paired() -> None:
    rng = np.random.default_rng(0)
    wanted = plan("auc(n) > 0.8 +/- 0.05")
    assert wanted.positives == wanted.negatives
    assert wanted.labels == 2 * wanted.positives
    rows = scored(rng, wanted.positives, 2 * wanted.negatives, 2.0, 0.1)
    found = judge(wanted, rows)
    assert found.truth is T
    expected = oracle.roc_auc_score(rows.labels == "spam", rows.new_scores)
    assert float(found.clauses[0].estimate) == pytest.approx(expected)
    with pytest.raises(CannotRunError, match="of other classes than 'spam'"):
        judge(wanted, scored(rng, wanted.positives, wanted.negatives - 1, 2.0, 0.1))
    # Far fewer rows than the plan: enough, since both models order nearly all pairs alike.
    paired = plan("auc(n) - auc(o) > -0.1 +/- 0.05")
    few = paired.positives // 4
    assert judge(paired, scored(rng, few, few, 2.0, 0.05)).truth is T
    # A refusal may depend on the classes' sizes, not on the models: it costs no step.
    assert judge(paired, scored(rng, few, few, 0.5, 3.0)).truth is U
    for noise in (0.05, 3.0):
        with pytest.raises(CannotRunError, match="aren't enough for any two models"):
            judge(paired, scored(rng, 50, 50, 2.0, noise))


def test_a_stated_share_of_reordered_pairs_is_held_against_the_rows() -> None:
    facts = Facts(positive="spam", reordered=0.05)
    wanted = plan("auc(n) - auc(o) > -0.1 +/- 0.05", facts)
    assert wanted.positives < plan("auc(n) - auc(o) > -0.1 +/- 0.05").positives
    rng = np.random.default_rng(1)
    size = wanted.positives
    assert judge(wanted, scored(rng, size, size, 2.0, 0.05)).truth is T
    assert judge(wanted, scored(rng, size, size, 2.0, 2.0)).truth is U


def test_macro_averages() -> None:
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 3, 30_000)
    said = np.where(rng.random(30_000) < 0.9, labels, rng.integers(0, 3, 30_000))
    scores = np.eye(3)[labels] + rng.normal(0, 0.3, (30_000, 3))
    rows = Rows(said, None, labels, None, scores)
    facts = Facts(classes=3)
    for condition, expected in (
        ("f1(n) > 0.8 +/- 0.1", oracle.f1_score(labels, said, average="macro")),
        ("recall(n) > 0.8 +/- 0.1", oracle.recall_score(labels, said, average="macro")),
        (
            "auc(n) > 0.8 +/- 0.1",
            np.mean([oracle.roc_auc_score(labels == k, scores[:, k]) for k in range(3)]),
        ),
    ):
        found = judge(plan(condition, facts), rows)
        assert float(found.clauses[0].estimate) == pytest.approx(expected)
        assert found.truth is (T if expected > 0.9 else U)
    with pytest.raises(InputError, match="macro average of precision"):
        plan("precision(n) > 0.8 +/- 0.1", facts)
    with pytest.raises(CannotRunError, match=r"3 classes, and `classes` states 4"):
        judge(plan("f1(n) > 0.8 +/- 0.1", Facts(classes=4)), rows)


def test_rmse_with_its_range() -> None:
    rng = np.random.default_rng(3)
    wanted = plan("rmse(n) < 10 +/- 2", Facts(span=(0, 50)))
    labels = rng.uniform(10, 40, wanted.labels)
    predicted = labels + rng.choice([-5.0, 5.0], len(labels))
    found = judge(wanted, Rows(predicted, None, labels, None, predicted))
    assert found.truth is T
    assert float(found.clauses[0].estimate) == pytest.approx(5)
    with pytest.raises(CannotRunError, match="outside the stated range"):
        judge(wanted, Rows(predicted, None, labels + 30, None, predicted))
    with pytest.raises(InputError, match="labels that are numbers"):
        judge(wanted, Rows(predicted, None, labels.astype(str), None, predicted))
    with pytest.raises(InputError, match=r"`range: \[0, 100\]`"):
        plan("rmse(n) < 10 +/- 2")


def test_a_rank_among_earlier_models() -> None:
    rng = np.random.default_rng(4)
    labels = np.zeros(4000, int)
    earlier = (rng.random((4, 4000)) > np.array([[0.95], [0.9], [0.8], [0.7]])).astype(int)
    new = (rng.random(4000) > 0.9).astype(int)
    rows = Rows(new, None, labels, earlier=earlier)
    for most, truth in ((1, F), (2, U), (3, T), (5, T)):
        assert judge(plan(f"rank(n) <= {most}", steps=5), rows).truth is truth
    with pytest.raises(CannotRunError, match="the test set has 4,000 rows"):
        judge(plan("rank(n) <= 3 +/- 0.01", steps=5), rows)
    with pytest.raises(InputError, match="earlier models' predictions"):
        judge(plan("rank(n) <= 3"), Rows(new, None, labels))


def test_a_ratio_of_a_variable_to_itself_is_refused() -> None:
    with pytest.raises(InputError, match=r"column 1 .*`f1\(n\) / f1\(n\)` is 1"):
        parse_condition("f1(n) / f1(n) > 1.1 +/- 0.1")


def test_a_ratio_is_a_sum() -> None:
    ratio, linear = plan("n / o > 1.02 +/- 0.05"), plan("n - 1.02 * o > 0 +/- 0.05")
    assert ratio.labels == linear.labels
    rng = np.random.default_rng(5)
    labels = np.ones(ratio.labels)
    new, old = rng.random(len(labels)) < 0.9, rng.random(len(labels)) < 0.7
    rows = Rows(new.astype(float), old.astype(float), labels)
    assert judge(ratio, rows).truth is judge(linear, rows).truth is T


@pytest.mark.parametrize(
    ("condition", "facts", "said"),
    [
        ("f1(n) > 0.8 +/- 0.1", Facts(), "positive: spam"),
        ("auc(n) > 0.8 +/- 0.1", SPAM, "new model's scores"),
        ("f1(n) - f1(o) > 0 +/- 0.5", SPAM, "old model's predictions"),
    ],
)
def test_what_is_missing(condition: str, facts: Facts, said: str) -> None:
    rows = table(9000, 100, 100, 9000)
    with pytest.raises(InputError, match=said):
        judge(plan(condition, facts), Rows(rows.new, None, rows.labels))


def test_conditions_mix() -> None:
    wanted = plan("n - o > -0.1 +/- 0.1 /\\ f1(n) > 0.7 +/- 0.1 /\\ d < 0.1 +/- 0.05")
    assert [r.clause.text[0] for r in wanted.requirements] == ["n", "f", "d"]
    found = judge(wanted, table(2000, 100, 100, 2000))
    assert [c.truth for c in found.clauses] == [U, T, T]


@pytest.mark.parametrize("scores", [np.ones(900), np.ones((900, 2)), np.full((900, 3), np.nan)])
def test_an_average_of_aucs_takes_a_number_for_each_class(scores: np.ndarray) -> None:
    labels = np.arange(900) % 3
    wanted = plan("auc(n) > 0.6 +/- 0.1", Facts(classes=3))
    with pytest.raises(InputError, match="needs scores"):
        judge(wanted, Rows(labels, None, labels, new_scores=scores))
    right = np.eye(3)[labels]
    assert judge(wanted, Rows(labels, None, labels, new_scores=right)).truth is T


def test_an_rmse_takes_numbers() -> None:
    wanted = plan("rmse(n) < 1 +/- 0.5", Facts(span=(0, 3)))
    labels = np.arange(900) % 3.0
    with pytest.raises(InputError, match="some are NaN"):
        judge(wanted, Rows(labels, None, labels, new_scores=np.full(900, np.nan)))
