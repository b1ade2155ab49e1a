"""F1, precision, recall, AUC and ranks: their forms against brute force, their bounds by draws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as oracle

from runner.ci.bounds import auc as auc_bound
from runner.ci.bounds import bennett, chernoff
from runner.ci.pairs import paired_auc, share_reordered
from runner.ci.ranks import certainly_more, rank
from runner.ci.relevant import SHARES, counts, marks, share_width, to_metric, to_share

METRICS = {
    "f1": oracle.f1_score,
    "precision": oracle.precision_score,
    "recall": oracle.recall_score,
}


@pytest.mark.parametrize("metric", METRICS)
def test_shares_stand_for_metrics(metric: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, said = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
        share = SHARES[metric](counts(y, said, 1))
        value = to_metric(metric, Fraction(share.right, share.rows))
        assert float(value) == pytest.approx(METRICS[metric](y, said))
        assert to_share(metric, float(value)) == pytest.approx(share.right / share.rows)
        marked = marks(metric, y, said, 1)
        assert (int(marked.sum()), len(marked)) == (share.right, share.rows)


def z(metric: str, limit: Fraction, y: int, said: int) -> Fraction:
    """A row's value of the linear form: the metric is above the limit where its mean is above 0."""
    if metric == "f1":
        return (2 - 2 * limit) * (y and said) - limit * (y != said)
    return (y and said) - limit * (said if metric == "precision" else y)


@pytest.mark.parametrize("metric", METRICS)
def test_the_linear_form_says_the_same_as_the_share_and_the_metric(metric: str) -> None:
    """All tables of up to five rows, at all limits in tenths: the mean of Z, by brute force."""
    rows = list(itertools.product((0, 1), repeat=2))
    for table in itertools.combinations_with_replacement(rows, 5):
        y, said = np.array(table).T
        share = SHARES[metric](counts(y, said, 1))
        if not share.rows:
            continue
        value = to_metric(metric, Fraction(share.right, share.rows))
        for tenths in range(11):
            limit = Fraction(tenths, 10)
            mean = sum(z(metric, limit, a, b) for a, b in table)
            assert (mean > 0) == (value > limit)
            assert (mean == 0) == (value == limit)


def test_of_rows_that_count_those_right_are_binomial() -> None:
    """Exactly, over all tables of four rows: given how many count, whatever the others are."""
    cells = {(1, 1): 0.3, (0, 1): 0.1, (1, 0): 0.15, (0, 0): 0.45}
    share = 0.3 / 0.55
    chances: dict[tuple[int, int], float] = {}
    for table in itertools.product(cells, repeat=4):
        y, said = np.array(table).T
        found = SHARES["f1"](counts(y, said, 1))
        key = (found.rows, found.right)
        chances[key] = chances.get(key, 0.0) + math.prod(cells[cell] for cell in table)
    for (rows, right), chance in chances.items():
        total = sum(c for (n, _), c in chances.items() if n == rows)
        assert chance / total == pytest.approx(stats.binom.pmf(right, rows, share))


@pytest.mark.parametrize("limit", [None, 0.01, 0.3, 0.8, 0.99])
def test_a_share_known_so_well_tells_f1_as_well_as_asked(limit: float | None) -> None:
    width = share_width("f1", 0.02, limit)
    for value in np.linspace(0, 0.98, 50) if limit is None else [limit]:
        share = to_share("f1", value)
        assert to_metric("f1", share + width) <= value + 0.02 + 1e-12
        if share >= width:
            assert to_metric("f1", share - width) >= value - 0.02 - 1e-12


def test_a_tolerance_beyond_both_ends_asks_for_nothing() -> None:
    assert share_width("f1", 1.5, 1.0) == share_width("f1", 0.6, 0.5) == 1
    assert share_width("f1", 0.6, 0.1) == pytest.approx(to_share("f1", 0.7) - to_share("f1", 0.1))


@pytest.mark.parametrize(
    ("positives", "negatives", "ours", "mcdiarmid"),
    [(100, 100, 0.1358, 0.1921), (500, 500, 0.0607, 0.0859), (50, 950, 0.1921, 0.1971)],
)
def test_auc_half_widths(positives: int, negatives: int, ours: float, mcdiarmid: float) -> None:
    both = math.log(2 / 0.05)
    assert auc_bound.half_width(positives, negatives, both) == pytest.approx(ours, abs=5e-5)
    moved = 1 / positives + 1 / negatives
    assert math.sqrt(moved * both / 2) == pytest.approx(mcdiarmid, abs=5e-5)


@pytest.mark.parametrize(
    ("positives", "negatives", "half_width"),
    [(500, 500, 0.125), (500, 4500, 0.152), (2000, 8000, 0.068)],
)
def test_bounded_differences_of_f1_are_wider_than_its_share(
    positives: int, negatives: int, half_width: float
) -> None:
    m, q, both = positives, negatives, math.log(2 / 0.05)
    squares = 4 * m / (m + 1) ** 2 + q / (2 * m + 1) ** 2
    assert math.sqrt(squares * both / 2) == pytest.approx(half_width, abs=1e-3)
    needed = chernoff.samples(to_share("f1", 0.8), share_width("f1", half_width, 0.8), both)
    assert needed < m / 2


def scores(rng: np.random.Generator, positives: int, negatives: int, gap: float) -> np.ndarray:
    return np.concatenate([rng.normal(gap, 1, positives), rng.normal(0, 1, negatives)])


def test_auc_bound_by_draws() -> None:
    """10,000 draws at (500, 500): errs below delta, and at most twice as wide as is needed."""
    rng = np.random.default_rng(1)
    m, delta = 500, 0.05
    # At AUC 1/2 Hoeffding's bound is nearest to the truth; two-sided.
    new = rng.random((10_000, 2 * m)).argsort(axis=1)
    ranks = np.empty_like(new)
    np.put_along_axis(ranks, new, np.arange(1, 2 * m + 1)[None], axis=1)
    values = (ranks[:, :m].sum(axis=1) - m * (m + 1) / 2) / m**2
    off = np.abs(values - 0.5)
    half_width = auc_bound.half_width(m, m, math.log(2 / delta))
    errors = int((off > half_width).sum())
    assert stats.binomtest(errors, 10_000).proportion_ci().low <= delta
    assert half_width <= 2 * np.quantile(off, 1 - delta)


def test_paired_auc_bound_by_draws() -> None:
    """Two models that order few pairs apart, equally good: covered, and no wider than twice."""
    rng = np.random.default_rng(2)
    m, delta, draws = 300, 0.1, 200
    truly = np.arange(2 * m) < m
    differences, widths = [], []
    for _ in range(draws):
        shared = scores(rng, m, m, 1.5)
        new, old = (shared + rng.normal(0, 0.3, 2 * m) for _ in range(2))
        found = paired_auc(truly, new, old, math.log(1 / delta))
        differences.append(found.difference)
        widths.append(found.half_width)
    assert np.mean(np.abs(differences) > widths) <= delta
    unpaired = 2 * auc_bound.half_width(m, m, math.log(4 / delta))
    assert np.mean(widths) < unpaired / 2


def test_paired_auc_parts_by_brute_force() -> None:
    rng = np.random.default_rng(3)
    truly = rng.random(40) < 0.4
    new, old = rng.integers(0, 5, (2, 40)).astype(float)
    found = paired_auc(truly, new, old, math.log(20))
    assert found.new == pytest.approx(oracle.roc_auc_score(truly, new))
    assert found.old == pytest.approx(oracle.roc_auc_score(truly, old))
    pairs = [(i, j) for i in np.flatnonzero(truly) for j in np.flatnonzero(~truly)]
    apart = sum(np.sign(new[i] - new[j]) != np.sign(old[i] - old[j]) for i, j in pairs)
    assert share_reordered(truly, new, old) == apart / len(pairs) == found.reordered


@pytest.mark.parametrize("p", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("n", [20, 300])
def test_chernoff_is_above_the_binomial_and_below_hoeffding(p: float, n: int) -> None:
    for k in range(math.floor(n * p) + 1, n + 1, max(1, n // 17)):
        tail = float(stats.binom.sf(k - 1, n, p))
        bound = math.exp(-n * chernoff.divergence(k / n, p))
        assert tail <= bound * (1 + 1e-9)
        assert bound <= math.exp(-2 * n * (k / n - p) ** 2) + 1e-12
    limit = chernoff.upper_limit(p, n, math.log(20))
    assert n * chernoff.divergence(p, limit) == pytest.approx(math.log(20), rel=1e-6)


def test_chernoff_needs_what_the_worse_side_does() -> None:
    assert chernoff.samples(0.9, 0.02, 5) == pytest.approx(5 / chernoff.divergence(0.88, 0.9))
    assert chernoff.samples(0.995, 0.02, 5) == pytest.approx(5 / chernoff.divergence(0.975, 0.995))
    assert chernoff.samples(0.5, 0.02, 5) == pytest.approx(5 / (2 * 0.02**2), rel=0.01)


def test_bennetts_width_is_its_samples_turned() -> None:
    for rows, moment in ((50, 0.5), (3000, 0.1), (10**6, 1.0)):
        width = bennett.half_width(rows, moment, 9.0)
        assert bennett.samples(width, moment, 9.0) == pytest.approx(rows, rel=1e-9)


def test_ranks_among_earlier_models() -> None:
    rng = np.random.default_rng(4)
    accuracies = (0.95, 0.9, 0.85, 0.7)
    earlier = np.array([rng.random(3000) < a for a in accuracies])
    new = rng.random(3000) < 0.9
    found = rank(new, earlier, math.log(4 / 0.01))
    assert (found.low, found.high) == (2, 3)
    assert found.low <= found.estimate <= found.high
    few = rank(new[:20], earlier[:, :20], math.log(4 / 0.01))
    assert (few.low, few.high) == (1, 5)
    assert rank(new, earlier[:0], 0.0) == rank(new[:0], earlier[:0], 0.0)


def test_comparisons_are_exact() -> None:
    for first, second in ((15, 5), (14, 6), (10, 0), (6, 0), (5, 5), (3, 9)):
        p = stats.binomtest(first, first + second, alternative="greater").pvalue
        assert certainly_more(first, second, math.log(1 / 0.03)) == (p <= 0.03)


def test_ranks_err_no_more_than_stated() -> None:
    """Eight models of equal accuracy: none is certainly better or worse, but with delta."""
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(400):
        right = rng.random((9, 300)) < 0.8
        found = rank(right[0], right[1:], math.log(8 / 0.1))
        wrong += found.high < 9
    assert wrong / 400 <= 0.1
